#include <cmath>

#include "json.h"
#include "muster/core.hpp"

namespace muster::core {
namespace {

constexpr double kInt64End = 9223372036854775808.0;  // 2^63

[[noreturn]] void refuse(const Value& value, const char* what) {
  throw std::invalid_argument(json_of(value) + " is no " + what);
}

/// Calls `as` with the member; names it when that fails.
template <class T, class As>
T member_or(const Value& map, std::string_view name, T otherwise, As as) {
  const Value* member = map.find(name);
  if (member == nullptr || member->is_null()) return otherwise;
  try {
    return as(*member);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(std::string(name) + ": " + error.what());
  }
}

}  // namespace

bool Value::as_bool() const {
  if (const bool* value = std::get_if<bool>(&data_)) return *value;
  refuse(*this, "boolean");
}

std::int64_t Value::as_int() const {
  if (const auto* value = std::get_if<std::int64_t>(&data_)) return *value;
  if (const double* value = std::get_if<double>(&data_)) {
    if (*value == std::floor(*value) && *value >= -kInt64End && *value < kInt64End)
      return static_cast<std::int64_t>(*value);
  }
  refuse(*this, "whole number");
}

double Value::as_double() const {
  if (const double* value = std::get_if<double>(&data_)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&data_)) return static_cast<double>(*value);
  refuse(*this, "number");
}

const std::string& Value::as_text() const {
  if (const auto* value = std::get_if<std::string>(&data_)) return *value;
  refuse(*this, "text");
}

const Value::List& Value::as_list() const {
  if (const auto* value = std::get_if<List>(&data_)) return *value;
  refuse(*this, "list");
}

const Value::Map& Value::as_map() const {
  if (const auto* value = std::get_if<Map>(&data_)) return *value;
  refuse(*this, "map");
}

const Value* Value::find(std::string_view name) const {
  const auto* map = std::get_if<Map>(&data_);
  if (map == nullptr) return nullptr;
  const auto found = map->find(name);
  return found == map->end() ? nullptr : &found->second;
}

const Value& Value::operator[](std::string_view name) const {
  if (const Value* member = find(name)) return *member;
  throw std::invalid_argument("there is no \"" + std::string(name) + "\" in " + json_of(*this));
}

bool Value::get(std::string_view name, bool otherwise) const {
  return member_or(*this, name, otherwise, [](const Value& value) { return value.as_bool(); });
}
std::int64_t Value::get(std::string_view name, std::int64_t otherwise) const {
  return member_or(*this, name, otherwise, [](const Value& value) { return value.as_int(); });
}
int Value::get(std::string_view name, int otherwise) const {
  return static_cast<int>(get(name, static_cast<std::int64_t>(otherwise)));
}
double Value::get(std::string_view name, double otherwise) const {
  return member_or(*this, name, otherwise, [](const Value& value) { return value.as_double(); });
}
std::string Value::get(std::string_view name, const char* otherwise) const {
  return member_or(*this, name, std::string(otherwise),
                   [](const Value& value) { return value.as_text(); });
}

}  // namespace muster::core

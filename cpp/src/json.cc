#include "json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace muster::core {
namespace {

using Json = nlohmann::json;

Value value_of(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean: return json.get<bool>();
    case Json::value_t::number_integer: return json.get<std::int64_t>();
    case Json::value_t::number_unsigned: {
      const auto number = json.get<std::uint64_t>();
      if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return static_cast<double>(number);
      return static_cast<std::int64_t>(number);
    }
    case Json::value_t::number_float: return json.get<double>();
    case Json::value_t::string: return json.get<std::string>();
    case Json::value_t::array: {
      Value::List list;
      for (const Json& item : json) list.push_back(value_of(item));
      return list;
    }
    case Json::value_t::object: {
      Value::Map map;
      for (const auto& [name, item] : json.items()) map.emplace(name, value_of(item));
      return map;
    }
    default: return nullptr;
  }
}

struct Writer {
  Json operator()(std::nullptr_t) const { return nullptr; }
  Json operator()(bool value) const { return value; }
  Json operator()(std::int64_t value) const { return value; }
  Json operator()(double value) const {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return value;
  }
  Json operator()(const std::string& value) const { return value; }
  Json operator()(const Value::List& list) const {
    Json out = Json::array();
    for (const Value& item : list) out.push_back(std::visit(*this, item.data()));
    return out;
  }
  Json operator()(const Value::Map& map) const {
    Json out = Json::object();
    for (const auto& [name, item] : map) out[name] = std::visit(*this, item.data());
    return out;
  }
};

}  // namespace

Value parse_json(const std::string& what, std::string_view text) {
  try {
    return value_of(Json::parse(text));
  } catch (const Json::exception& error) {
    throw std::invalid_argument(what + " is not JSON: " + error.what());
  }
}

std::string json_of(const Value& value) {
  return std::visit(Writer{}, value.data()).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Value decoded(Value value) {
  if (const auto* text = std::get_if<std::string>(&value.data())) {
    if (*text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (*text == "Infinity") return std::numeric_limits<double>::infinity();
    if (*text == "-Infinity") return -std::numeric_limits<double>::infinity();
  }
  if (const auto* list = std::get_if<Value::List>(&value.data())) {
    Value::List out;
    for (const Value& item : *list) out.push_back(decoded(item));
    return out;
  }
  if (const auto* map = std::get_if<Value::Map>(&value.data())) {
    Value::Map out;
    for (const auto& [name, item] : *map) out.emplace(name, decoded(item));
    return out;
  }
  return value;
}

}  // namespace muster::core

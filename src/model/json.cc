#include "model/json.h"

#include <algorithm>

template class std::vector<muster::Json>;
template class std::vector<muster::Json::Member>;

namespace muster {

Json::Json() = default;
Json::Json(bool value) : value_(value) {}
Json::Json(Whole whole) : value_(whole.value) {}
Json::Json(double value) : value_(value) {}
Json::Json(std::string value) : value_(std::move(value)) {}
Json::Json(const char* value) : value_(std::string(value)) {}
Json::Json(Array value) : value_(std::move(value)) {}
Json::Json(Object value) : value_(std::move(value)) {}
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;
bool operator==(const Json& a, const Json& b) { return a.value_ == b.value_; }

std::optional<double> Json::number() const {
  if (const auto* number = std::get_if<double>(&value_)) return *number;
  if (const auto* number = whole()) return static_cast<double>(*number);
  return std::nullopt;
}

const Json* Json::find(std::string_view name) const {
  if (const Object* members = object()) {
    // One by one: an object has few members as a rule, and its order must be kept.
    const auto found = std::ranges::find(*members, name, &Member::name);
    if (found != members->end()) return &found->value;
  }
  return nullptr;
}

const Json* Json::find(std::span<const std::string> path) const {
  const Json* here = this;
  for (const std::string& name : path) {
    here = here->find(name);
    if (here == nullptr) return nullptr;
  }
  return here;
}

Json& Json::member(std::string_view name) {
  // What stood there before, a null or a scalar, is replaced.
  if (object() == nullptr) value_ = Object{};
  Object& members = *object();
  // A later member() may move all members of this object: the reference is for use at once.
  const auto found = std::ranges::find(members, name, &Member::name);
  if (found != members.end()) return found->value;
  return members.emplace_back(Member{std::string(name), {}}).value;
}

Json& Json::at(std::span<const std::string> path) {
  Json* here = this;
  for (const std::string& name : path) here = &here->member(name);
  return *here;
}

}  // namespace muster

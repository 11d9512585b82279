#include "model/json.h"

#include <algorithm>

namespace muster {

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

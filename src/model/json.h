// A JSON value: what hyperparameters, experiment files and metadata hold where no schema of ours
// says more.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace muster {

/// A JSON value: null, a boolean, a whole number, a number, a text, a list or an object. Whole
/// numbers and numbers differ: 1 is not 1.0.
class Json {
 public:
  struct Member;
  using Array = std::vector<Json>;
  /// Members in the order in which they were written; a name stands once.
  using Object = std::vector<Member>;
  using Value =
      std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object>;

  // None of these is inline: what copies and destroys values of all kinds would otherwise be
  // compiled anew wherever there is one.
  Json();
  Json(bool value);
  template <std::integral T>
  requires(!std::same_as<T, bool>) Json(T value) : Json(Whole{static_cast<std::int64_t>(value)}) {}
  Json(double value);
  Json(std::string value);
  Json(const char* value);
  Json(Array value);
  Json(Object value);
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  const Value& value() const { return value_; }
  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  /// Returns the value when it is of that type, else nullptr.
  const bool* boolean() const { return std::get_if<bool>(&value_); }
  const std::int64_t* whole() const { return std::get_if<std::int64_t>(&value_); }
  const std::string* text() const { return std::get_if<std::string>(&value_); }
  const Array* array() const { return std::get_if<Array>(&value_); }
  Array* array() { return std::get_if<Array>(&value_); }
  const Object* object() const { return std::get_if<Object>(&value_); }
  Object* object() { return std::get_if<Object>(&value_); }
  /// Returns the number, whole or not; nothing for anything else.
  std::optional<double> number() const;

  /// Returns the member of that name; nullptr when there is none or this is no object.
  const Json* find(std::string_view name) const;
  const Json* find(std::span<const std::string> path) const;
  /// Returns the member of that name, which is added where it is missing; a value that is no object
  /// becomes one.
  Json& member(std::string_view name);
  /// Returns a member as member() does, along a path.
  Json& at(std::span<const std::string> path);

  friend bool operator==(const Json& a, const Json& b);

 private:
  struct Whole {
    std::int64_t value;
  };
  explicit Json(Whole whole);

  Value value_;
};

struct Json::Member {
  std::string name;
  Json value;
  friend bool operator==(const Member&, const Member&) = default;
};

}  // namespace muster

extern template class std::vector<muster::Json>;
extern template class std::vector<muster::Json::Member>;

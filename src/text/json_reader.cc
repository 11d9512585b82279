// The parser of nlohmann::json calls back for each value it meets, and the values are built as our
// own type at once: its document type would cost a second copy of everything. An explicit stack of
// open lists and objects stands in for recursion.

#include "text/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace muster {
namespace {

// Writers and comparisons of values recurse: the depth of what anybody sends must be bounded.
constexpr std::size_t kLevelsMax = 200;
/// Members of an object that are looked through one by one.
constexpr std::size_t kSmallObject = 16;

/// Builds our value from what the parser meets.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return put(Json()); }
  bool boolean(bool value) override { return put(Json(value)); }
  bool number_integer(number_integer_t value) override { return put(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    constexpr auto kMax = static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max());
    // JSON does not bound its numbers: beyond 63 bits they are as exact as a double.
    return value <= kMax ? put(Json(static_cast<std::int64_t>(value)))
                         : put(Json(static_cast<double>(value)));
  }
  bool number_float(number_float_t value, const string_t&) override { return put(Json(value)); }
  bool string(string_t& value) override { return put(Json(std::move(value))); }
  // Only its binary formats, which are not read here, have such values.
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return begin(Json(Json::Object{})); }
  bool key(string_t& name) override {
    open_.back().name = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return begin(Json(Json::Array{})); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception& error) override {
    std::string why = error.what();
    // The text begins with "[json.exception.parse_error.101] ", which helps nobody.
    if (const auto bracket = why.find("] "); bracket != why.npos) why.erase(0, bracket + 2);
    problem_ = fmt::format("byte {}: {}", at, why);
    return false;
  }

  Json root;
  const std::string& problem() const { return problem_; }

 private:
  /// A value that is not finished, and in an object the name of the member to come.
  struct Open {
    Json value;
    std::string name;
    // Empty until the object has more than kSmallObject members, as most never have.
    std::unordered_map<std::string, std::size_t> places =
        {};  ///< of a large object's members, by name
  };
  bool put(Json value) {
    if (open_.empty()) {
      root = std::move(value);
    } else if (Json::Array* items = open_.back().value.array()) {
      items->push_back(std::move(value));
    } else {
      put_member(open_.back(), std::move(value));
    }
    return true;
  }
  /// A name that stands twice has the later value. Small objects are looked through; a large one
  /// has an index, since anybody may send one.
  static void put_member(Open& open, Json value) {
    Json::Object& object = *open.value.object();
    if (Json* known = known_member(open)) {
      *known = std::move(value);
      return;
    }
    if (object.size() >= kSmallObject) open.places.emplace(open.name, object.size());
    object.push_back({std::move(open.name), std::move(value)});
  }
  static Json* known_member(Open& open) {
    Json::Object& object = *open.value.object();
    const std::size_t searched = std::min(object.size(), kSmallObject);
    for (std::size_t i = 0; i < searched; ++i) {
      if (object[i].name == open.name) return &object[i].value;
    }
    const auto found = open.places.find(open.name);
    return found == open.places.end() ? nullptr : &object[found->second].value;
  }
  bool begin(Json value) {
    if (open_.size() == kLevelsMax) {
      problem_ = fmt::format("more than {} levels", kLevelsMax);
      return false;
    }
    open_.push_back({std::move(value), {}, {}});
    return true;
  }
  bool close() {
    // Out of the stack first: put() adds it to the level below.
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return put(std::move(value));
  }

  std::vector<Open> open_;
  std::string problem_;
};

}  // namespace

Result<Json> parse_json(std::string_view text) {
  Builder builder;
  if (!nlohmann::json::sax_parse(text, &builder))
    return fail(ErrorCode::kInvalidArgument, "this is no JSON", builder.problem());
  return std::move(builder.root);
}

}  // namespace muster

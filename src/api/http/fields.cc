// Values out of JSON bodies and query parameters. Clients send camelCase and snake_case, numbers
// as numbers and as text, and null for what they do not say: each of these is read here, and a
// value of another type is no value.

#include "api/http/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "text/json_reader.h"
#include "text/words.h"

namespace muster::api {
namespace {

std::string snake_case(std::string_view name) {
  // Determined's REST API takes both spellings of a field.
  std::string out;
  for (const char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0) {
      out += '_';
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  return out;
}

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Error no_id(std::string_view name) {
  return Error{ErrorCode::kInvalidArgument, fmt::format("{}: an id is a number from 1", name), ""};
}

}  // namespace

Result<Json> body_of(const HttpRequest& request) {
  if (request.bytes.empty()) return Json(Json::Object{});
  // An empty body is an object without fields: many calls need none.
  Json body = TRY(parse_json(request.bytes));
  if (body.is_null()) return Json(Json::Object{});
  if (body.object() == nullptr)
    return fail(ErrorCode::kInvalidArgument, "the body must be a JSON object", "");
  return body;
}

const Json* field(const Json& object, std::string_view name) {
  const Json* found = object.find(name);
  if (found == nullptr) found = object.find(snake_case(name));
  // null is what protobuf's JSON sends for an absent field.
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::optional<std::string> text_field(const Json& object, std::string_view name) {
  const Json* found = field(object, name);
  if (found == nullptr || found->text() == nullptr) return std::nullopt;
  return *found->text();
}

std::optional<std::int64_t> whole_field(const Json& object, std::string_view name) {
  const Json* found = field(object, name);
  return found == nullptr ? std::nullopt : whole_of(*found);
}

std::optional<std::int64_t> whole_of(const Json& value) {
  if (value.whole() != nullptr) return *value.whole();
  // Text is how 64-bit numbers travel.
  if (value.text() != nullptr) return whole(*value.text());
  // A double below 2^63 is exact where it is whole, and above it no int64 exists.
  constexpr double kBeyond = 9223372036854775808.0;  // 2^63
  const auto number = value.number();
  if (number && *number >= -kBeyond && *number < kBeyond && std::trunc(*number) == *number)
    return static_cast<std::int64_t>(*number);
  return std::nullopt;
}

std::optional<bool> bool_field(const Json& object, std::string_view name) {
  const Json* found = field(object, name);
  if (found == nullptr || found->boolean() == nullptr) return std::nullopt;
  return *found->boolean();
}

// Booleans, lists and texts that are empty count as not given: clients send their defaults.
bool is_given(const Json& object, std::string_view name) {
  const Json* value = field(object, name);
  if (value == nullptr || value->is_null()) return false;
  if (value->boolean() != nullptr) return *value->boolean();
  if (value->array() != nullptr) return !value->array()->empty();
  if (value->object() != nullptr) return !value->object()->empty();
  return value->text() == nullptr || !value->text()->empty();
}

Status check_texts(const Json& body, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    // A wrong type is refused, and an absent field is not.
    const Json* value = field(body, name);
    if (value != nullptr && value->text() == nullptr)
      return fail(ErrorCode::kInvalidArgument, fmt::format("{} is not a text", name), "");
  }
  return {};
}

Status check_flags(const Json& body, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const Json* value = field(body, name);
    if (value != nullptr && value->boolean() == nullptr)
      return fail(ErrorCode::kInvalidArgument, fmt::format("{} is neither true nor false", name),
                  "");
  }
  return {};
}

Status check_text_lists(const Json& body, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const Json* value = field(body, name);
    if (value == nullptr) continue;
    const Json::Array* items = value->array();
    const auto is_text = [](const Json& item) { return item.text() != nullptr; };
    if (items == nullptr || !std::ranges::all_of(*items, is_text))
      return fail(ErrorCode::kInvalidArgument, fmt::format("{} is not a list of texts", name), "");
  }
  return {};
}

Status refuse_fields(const Json& body, std::initializer_list<std::string_view> names,
                     std::string_view way_out) {
  // Refused by name: it would look as if it had worked.
  for (const std::string_view name : names) {
    if (is_given(body, name))
      return fail(ErrorCode::kUnimplemented, fmt::format("{} is not there yet", name),
                  std::string(way_out));
  }
  return {};
}

std::optional<std::vector<std::string>> texts_field(const Json& object, std::string_view name) {
  const Json* found = field(object, name);
  if (found == nullptr || found->array() == nullptr) return std::nullopt;
  // What is no text in a list is left out.
  std::vector<std::string> texts;
  for (const Json& item : *found->array()) {
    if (item.text() != nullptr) texts.push_back(*item.text());
  }
  return texts;
}

Result<std::optional<std::uint32_t>> id_field(const Json& object, std::string_view name) {
  const Json* found = field(object, name);
  if (found == nullptr) return std::nullopt;
  // Ids are 32 bits here, though Determined's are 64.
  const auto value = whole_of(*found);
  if (!value || *value < 0 || *value > UINT32_MAX) return fail(no_id(name));
  // 0 is what protobuf has for a number that was not set.
  return *value == 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(*value));
}

Result<std::vector<std::uint32_t>> ids_field(const Json& object, std::string_view name) {
  std::vector<std::uint32_t> ids;
  const Json* found = field(object, name);
  if (found == nullptr) return ids;
  if (found->array() == nullptr)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} is not a list of ids", name), "");
  for (const Json& item : *found->array()) {
    const auto id = whole_of(item);
    if (!id || *id < 1 || *id > UINT32_MAX) return fail(no_id(name));
    ids.push_back(static_cast<std::uint32_t>(*id));
  }
  return ids;
}

Status check_list_size(std::size_t size, std::string_view name) {
  if (size <= kListMax) return {};
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("{} has {} entries, and {} are the most of one request", name, size, kListMax),
      "send the rest in another request");
}

Result<std::uint32_t> parse_id(std::string_view text, std::string_view what) {
  const auto value = whole(text);
  if (!value || *value < 1 || *value > UINT32_MAX) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is no id of {}", text, what),
                "ids are numbers from 1");
  }
  return static_cast<std::uint32_t>(*value);
}

Result<std::int64_t> number_parameter(const HttpRequest& request, std::string_view name,
                                      std::int64_t otherwise) {
  const std::string_view text = request.parameter(name);
  // "?offset=" is an absent parameter.
  if (text.empty()) return otherwise;
  const auto value = whole(text);
  if (!value)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: '{}' is no whole number", name, text),
                "");
  return *value;
}

Result<std::uint32_t> id_parameter(const HttpRequest& request, std::string_view name) {
  const std::int64_t value = TRY(number_parameter(request, name, 0));
  if (value < 0 || value > UINT32_MAX) return fail(no_id(name));
  return static_cast<std::uint32_t>(value);
}

Result<std::optional<bool>> flag_parameter(const HttpRequest& request, std::string_view name) {
  const std::string text = lower(request.parameter(name));
  if (text.empty()) return std::optional<bool>();
  // The spellings of Go's strconv.ParseBool, with which Determined's server reads parameters.
  if (text == "true" || text == "t" || text == "1") return std::optional(true);
  if (text == "false" || text == "f" || text == "0") return std::optional(false);
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: '{}' is neither true nor false", name, request.parameter(name)), "");
}

}  // namespace muster::api

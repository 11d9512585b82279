// Reads the bodies of requests. Clients write names in camelCase or snake_case and may write null
// for what they leave out.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/http_message.h"
#include "base/result.h"
#include "model/json.h"

namespace muster::api {

/// Returns the body as an object; an empty one is an object without members. Errors:
/// kInvalidArgument.
Result<Json> body_of(const HttpRequest& request);

/// Returns the member of that camelCase name, in either spelling; null pointer: it is missing or
/// null.
const Json* field(const Json& object, std::string_view name);

std::optional<std::string> text_field(const Json& object, std::string_view name);
/// Returns a whole number, also from a text, as JSON has it for 64 bits. Nullopt: there is none.
std::optional<std::int64_t> whole_field(const Json& object, std::string_view name);
/// Does the same for a value itself. Nullopt also: it is beyond 64 bits.
std::optional<std::int64_t> whole_of(const Json& value);
std::optional<bool> bool_field(const Json& object, std::string_view name);
/// Returns a list of texts, without what in it is none (check_text_lists refuses that); nullopt:
/// there is none.
std::optional<std::vector<std::string>> texts_field(const Json& object, std::string_view name);
/// Returns an id. Nullopt: there is none, or 0. Errors: kInvalidArgument: something else stands
/// there.
Result<std::optional<std::uint32_t>> id_field(const Json& object, std::string_view name);
/// Returns a list of ids, each of which may be a text. Errors: kInvalidArgument: it is no list, or
/// one of them is no id.
Result<std::vector<std::uint32_t>> ids_field(const Json& object, std::string_view name);
/// How many things one request may name where each is a command of its own.
inline constexpr std::size_t kListMax = 10'000;
/// Errors: kInvalidArgument: the list called so has more.
Status check_list_size(std::size_t size, std::string_view name);

/// True when a field asks for something: it is there and neither null, false nor empty.
bool is_given(const Json& object, std::string_view name);
/// Refuses fields. Errors: kUnimplemented: one of these fields asks for something, which is not
/// there.
Status refuse_fields(const Json& body, std::initializer_list<std::string_view> names,
                     std::string_view way_out);

/// Checks fields that are texts. Errors: kInvalidArgument: one of these fields is there and no
/// text.
Status check_texts(const Json& body, std::initializer_list<std::string_view> names);
/// Checks fields that are flags. Errors: kInvalidArgument: one of these fields is there and neither
/// true nor false.
Status check_flags(const Json& body, std::initializer_list<std::string_view> names);
/// Checks fields that are lists of texts. Errors: kInvalidArgument: one of these fields is there
/// and not a list of texts alone.
Status check_text_lists(const Json& body, std::initializer_list<std::string_view> names);

/// Returns a path's part, or a parameter, that is a number from 1. Errors: kInvalidArgument with
/// `what`.
Result<std::uint32_t> parse_id(std::string_view text, std::string_view what);
/// Returns a parameter that is a whole number; `otherwise` when it is not given. Errors:
/// kInvalidArgument.
Result<std::int64_t> number_parameter(const HttpRequest& request, std::string_view name,
                                      std::int64_t otherwise);
/// Returns a parameter that is an id; 0 when it is not given. Errors: kInvalidArgument.
Result<std::uint32_t> id_parameter(const HttpRequest& request, std::string_view name);
/// Returns a parameter that is true or false, in any of the spellings that Go reads; nullopt: it is
/// not given. Errors: kInvalidArgument.
Result<std::optional<bool>> flag_parameter(const HttpRequest& request, std::string_view name);

}  // namespace muster::api

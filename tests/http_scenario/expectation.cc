#include "tests/http_scenario/expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "tests/http_scenario/json_path.h"
#include "text/json_reader.h"
#include "text/json_text.h"

namespace muster::http_scenario {
namespace {

constexpr std::size_t kShownMax = 1000;

tl::unexpected<Error> bad_expectation(std::string what) {
  return fail(ErrorCode::kInvalidArgument, std::move(what));
}

std::string shown(const Json& value) {
  std::string text = json_text(value);
  if (text.size() > kShownMax) text = text.substr(0, kShownMax) + "...";
  return text;
}

/// The body of an error, or of anything, for messages.
std::string shown(const Answer& answer) {
  return fmt::format("{} {}", answer.status, answer.body.substr(0, kShownMax));
}

/// The value that a path names: of the body, of one of its lines, or of a header.
Result<Json> found_at(const Answer& answer, std::string_view path) {
  if (path == "body") return Json(answer.body);
  constexpr std::string_view kHeader = "header.";
  if (path.starts_with(kHeader)) {
    const std::string* header = answer.header(path.substr(kHeader.size()));
    if (header != nullptr) return Json(*header);
    return fail(ErrorCode::kNotFound, fmt::format("{} is not there", path));
  }
  constexpr std::string_view kLines = "lines";
  if (path.starts_with(kLines)) {
    const Json lines = TRY(json_lines(answer.body));
    const std::string_view rest = path.substr(kLines.size());
    if (rest.empty()) return lines;
    auto value = value_at(lines, rest);
    if (!value.has_value())
      return fail(value.error().code, fmt::format("lines: {}", value.error().text()));
    return value;
  }
  const Json body = TRY(parse_json(answer.body));
  return value_at(body, path);
}

bool is_kind(const Json& value, std::string_view kind) {
  if (kind == "text") return value.text() != nullptr;
  if (kind == "number") return value.number().has_value() && value.whole() == nullptr;
  if (kind == "whole") return value.whole() != nullptr;
  if (kind == "list") return value.array() != nullptr;
  return kind == "object" && value.object() != nullptr;
}

std::optional<std::size_t> size_of(const Json& value) {
  if (value.array() != nullptr) return value.array()->size();
  if (value.object() != nullptr) return value.object()->size();
  if (value.text() != nullptr) return value.text()->size();
  return std::nullopt;
}

Result<bool> contains(const Json& value, const Json& wanted) {
  if (value.array() != nullptr)
    return std::ranges::find(*value.array(), wanted) != value.array()->end();
  if (value.text() != nullptr && wanted.text() != nullptr)
    return value.text()->find(*wanted.text()) != std::string::npos;
  return bad_expectation("only lists, and texts of texts, contain something");
}

Result<bool> compares(const Json& value, const Json& wanted, std::string_view how) {
  const auto left = value.number();
  const auto right = wanted.number();
  if (!left || !right) return bad_expectation("only numbers are compared");
  return how == "<" ? *left < *right : *left > *right;
}

/// Whether `value` is as the operator and what follows it say. Errors: they make no sense.
Result<bool> holds(const Json& value, std::string_view how, std::string_view rest) {
  if (how == "is") {
    constexpr std::string_view kKinds[] = {"text", "number", "whole", "list", "object"};
    if (std::ranges::find(kKinds, rest) == std::end(kKinds))
      return bad_expectation(fmt::format("'{}' is no kind of value", rest));
    return is_kind(value, rest);
  }
  const auto wanted = parse_json(rest);
  if (!wanted.has_value()) return bad_expectation(fmt::format("'{}' is no JSON value", rest));
  if (how == "=") return value == *wanted;
  if (how == "!=") return !(value == *wanted);
  if (how == "contains") return contains(value, *wanted);
  if (how == "lacks") return !TRY(contains(value, *wanted));
  if (how == "<" || how == ">") return compares(value, *wanted, how);
  if (how != "has") return bad_expectation(fmt::format("'{}' compares nothing", how));
  if (wanted->whole() == nullptr || !size_of(value))
    return bad_expectation("only sizes are counted");
  return static_cast<std::int64_t>(*size_of(value)) == *wanted->whole();
}

std::optional<std::string> compare_status(const Answer& answer, std::string_view line) {
  const std::string status = first_word(line);
  if (std::to_string(answer.status) != status)
    return fmt::format("expected {}, found {}", status, shown(answer));
  if (line.empty()) return std::nullopt;
  const auto text = found_at(answer, "error.error");
  const auto wanted = parse_json(line);
  if (!wanted.has_value() || wanted->text() == nullptr) return "an error's text stands in quotes";
  if (text.has_value() && text->text() != nullptr &&
      text->text()->find(*wanted->text()) != std::string::npos)
    return std::nullopt;
  return fmt::format("expected an error with {}, found {}", line, shown(answer));
}

std::optional<std::string> name_value(const Answer& answer, std::string_view line,
                                      Variables& variables) {
  const std::string name = first_word(line);
  const std::string equals = first_word(line);
  if (name.empty() || equals != "=" || line.empty()) return "let NAME = PATH";
  const auto value = found_at(answer, line);
  if (!value.has_value()) return fmt::format("{} in {}", value.error().text(), shown(answer));
  variables[name] = value->text() != nullptr ? *value->text() : json_text(*value);
  return std::nullopt;
}

std::optional<std::string> expect_absent(const Answer& answer, std::string_view path) {
  const auto value = found_at(answer, path);
  if (value.has_value()) return fmt::format("{} is there: {}", path, shown(*value));
  if (value.error().code != ErrorCode::kNotFound)
    return fmt::format("{}: {}", path, value.error().text());
  return std::nullopt;
}

}  // namespace

bool is_status(std::string_view line) {
  const std::string word = first_word(line);
  return word.size() == 3 &&
         std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::optional<std::string> difference(const Answer& answer, const std::string& line,
                                      Variables& variables) {
  if (is_status(line)) return compare_status(answer, line);
  std::string_view rest = line;
  const std::string path = first_word(rest);
  if (path == "let") return name_value(answer, rest, variables);
  if (path == "no") return expect_absent(answer, rest);
  const std::string how = first_word(rest);
  const auto value = found_at(answer, path);
  if (!value.has_value()) return fmt::format("{} in {}", value.error().text(), shown(answer));
  const auto is_right = holds(*value, how, rest);
  if (!is_right.has_value()) return fmt::format("{}: {}", is_right.error().text(), line);
  if (*is_right) return std::nullopt;
  return fmt::format("expected {}, found {}", line, shown(*value));
}

}  // namespace muster::http_scenario

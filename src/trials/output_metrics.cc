// The cheap test comes first, since this runs on every line that a trial prints: only a line with
// "step" in it is parsed. A line that is almost a report is prose as a whole: half a report would
// put wrong numbers into a search.

#include "trials/output_metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "text/json_reader.h"
#include "text/words.h"

namespace muster {
namespace {

constexpr std::string_view kStep = "step";
/// Whole numbers up to here are the same as doubles.
constexpr double kStepMax = 9007199254740992.0;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool begins_name(char c) { return is_letter(c) || c == '_'; }
bool continues_name(char c) {
  return begins_name(c) || is_digit(c) || c == '.' || c == '/' || c == '-';
}
bool is_name(std::string_view text) {
  return !text.empty() && begins_name(text.front()) && std::ranges::all_of(text, continues_name);
}
bool is_mark(char c) { return c == ',' || c == ';' || c == '|'; }

// The spellings of Python, C and Java.
std::optional<double> named_number(std::string_view text) {
  if (equal_ignoring_case(text, "nan")) return std::numeric_limits<double>::quiet_NaN();
  if (equal_ignoring_case(text, "inf") || equal_ignoring_case(text, "infinity"))
    return std::numeric_limits<double>::infinity();
  return std::nullopt;
}

/// What lies beyond a double is infinite or zero, as it is for the languages that print it.
/// Requires: a decimal number.
double out_of_range(std::string_view text) {
  constexpr std::int64_t kFar = 100'000;  // more than a line has digits
  const std::size_t mark = std::min(text.find_first_of("eE"), text.size());
  const std::string_view digits = text.substr(0, mark);
  std::int64_t exponent = 0;
  if (mark < text.size()) {
    // from_chars has read the text to its end: a digit or a sign follows the exponent's mark.
    const bool is_negative = text[mark + 1] == '-';
    const std::string_view power =
        text.substr(mark + (is_negative || text[mark + 1] == '+' ? 2 : 1));
    exponent =
        static_cast<std::int64_t>(parse_whole(power, kFar).value_or(kFar)) * (is_negative ? -1 : 1);
  }
  // The power of ten of the first digit that is not 0 decides on which side of the range the
  // number lies.
  const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
  const auto first =
      static_cast<std::int64_t>(std::min(digits.find_first_of("123456789"), digits.size()));
  return point - first + exponent > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

std::optional<double> parse_number(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  std::optional<double> value = named_number(text);
  if (!value) {
    // Excludes what from_chars accepts besides, such as "nan(1)".
    const bool is_decimal =
        !text.empty() &&
        (is_digit(text[0]) || (text[0] == '.' && text.size() > 1 && is_digit(text[1])));
    if (!is_decimal) return std::nullopt;
    double parsed = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), parsed, std::chars_format::general);
    if (end != text.data() + text.size() || error == std::errc::invalid_argument)
      return std::nullopt;
    value = error == std::errc::result_out_of_range ? out_of_range(text) : parsed;
  }
  return is_negative ? -*value : *value;
}

/// Gathers a line's pairs.
class Gatherer {
 public:
  /// False: the line is prose.
  bool add(std::string_view name, double value) {
    if (name == kStep) {
      const bool is_count = value >= 0 && value <= kStepMax && value == std::floor(value);
      if (has_step_ || !is_count) return false;
      has_step_ = true;
      report_.steps = static_cast<std::int64_t>(value);
      return true;
    }
    const bool is_known =
        std::ranges::any_of(report_.metrics, [&](const Metric& one) { return one.name == name; });
    if (is_known || report_.metrics.size() == kReportMetricsMax) return false;
    report_.metrics.push_back({std::string(name), value});
    return true;
  }
  std::optional<PrintedReport> finish() {
    if (!has_step_ || report_.metrics.empty()) return std::nullopt;
    return std::move(report_);
  }

 private:
  PrintedReport report_;
  bool has_step_ = false;
};

bool parts_words(std::string_view line, std::size_t at) {
  if (is_blank(line[at])) return true;
  return is_mark(line[at]) &&
         (at + 1 == line.size() || is_blank(line[at + 1]) || begins_name(line[at + 1]));
}

std::optional<PrintedReport> parse_pairs(std::string_view line) {
  Gatherer gatherer;
  for (std::size_t begin = 0; begin < line.size();) {
    std::size_t end = begin;
    while (end < line.size() && !parts_words(line, end)) ++end;
    const std::string_view word = line.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = word.find('=');
    if (equals == word.npos || !is_name(word.substr(0, equals))) continue;
    const auto value = parse_number(word.substr(equals + 1));
    if (value && !gatherer.add(word.substr(0, equals), *value)) return std::nullopt;
  }
  return gatherer.finish();
}

/// With quotes around the words for numbers that JSON has not, and Python writes all the same.
std::string with_quoted_words(std::string_view line) {
  std::string out;
  bool is_quoted = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    // An escaped quote does not end the text.
    if (is_quoted && line[at] == '\\' && at + 1 < line.size()) {
      out += line[at++];
      out += line[at];
      continue;
    }
    if (line[at] == '"') is_quoted = !is_quoted;
    std::string_view word;
    // -Infinity before Infinity, or the sign would stay outside the quotes.
    for (const std::string_view one : {"NaN", "-Infinity", "Infinity"}) {
      if (!is_quoted && word.empty() && line.substr(at).starts_with(one)) word = one;
    }
    if (word.empty()) {
      out += line[at];
    } else {
      out.append("\"").append(word).append("\"");
      at += word.size() - 1;
    }
  }
  return out;
}

std::optional<double> number_of(const Json& value) {
  if (const auto number = value.number()) return number;
  const std::string* text = value.text();
  // Only these spellings: a text such as "inf" is the user's word and no number.
  const bool is_word =
      text != nullptr && (*text == "NaN" || *text == "Infinity" || *text == "-Infinity");
  return is_word ? parse_number(*text) : std::nullopt;
}

std::optional<PrintedReport> parse_object(std::string_view line) {
  const auto json = parse_json(with_quoted_words(line));
  if (!json.has_value() || json->object() == nullptr) return std::nullopt;
  Gatherer gatherer;
  for (const Json::Member& member : *json->object()) {
    const auto value = is_name(member.name) ? number_of(member.value) : std::nullopt;
    if (value && !gatherer.add(member.name, *value)) return std::nullopt;
  }
  return gatherer.finish();
}

}  // namespace

std::optional<PrintedReport> parse_printed_report(std::string_view line) {
  if (line.size() > kReportLineMax || !may_hold_report(line)) return std::nullopt;
  line = trim(line);
  const bool is_object = line.starts_with('{') && line.ends_with('}');
  return is_object ? parse_object(line) : parse_pairs(line);
}

std::optional<std::string_view> output_metrics_wish(std::span<const std::string> variables) {
  std::optional<std::string_view> wish;
  for (const std::string_view variable : variables) {
    const std::size_t equals = variable.find('=');
    if (variable.substr(0, equals) != kOutputMetricsVariable) continue;
    wish = equals == variable.npos ? "" : variable.substr(equals + 1);
  }
  return wish;
}

bool may_hold_report(std::string_view text) { return text.find(kStep) != text.npos; }

}  // namespace muster

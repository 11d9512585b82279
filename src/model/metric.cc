// Counts of NaN and of infinities are kept beside sums of finite values, so that a summary can be
// put together from parts in any order and still say what IEEE arithmetic would.

#include "model/metric.h"

#include <bit>
#include <cmath>
#include <limits>
#include <string_view>

namespace muster {
namespace {

bool is_digits(std::string_view text) {
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
  }
  return !text.empty();
}

/// yyyy-mm-ddThh:mm:ss, then a fraction, then Z or an offset.
bool is_date(std::string_view text) {
  // "2024-05-06T07:08:09Z" has 20 characters, the least.
  if (text.size() < 20) return false;
  const bool is_point =
      is_digits(text.substr(0, 4)) && text[4] == '-' && is_digits(text.substr(5, 2)) &&
      text[7] == '-' && is_digits(text.substr(8, 2)) && (text[10] == 'T' || text[10] == 't') &&
      is_digits(text.substr(11, 2)) && text[13] == ':' && is_digits(text.substr(14, 2)) &&
      text[16] == ':' && is_digits(text.substr(17, 2));
  if (!is_point) return false;
  text.remove_prefix(19);
  if (text.front() == '.') {
    const std::size_t end = text.find_first_not_of("0123456789", 1);
    if (end == std::string_view::npos || end == 1) return false;
    text.remove_prefix(end);
  }
  if (text == "Z" || text == "z") return true;
  return text.size() == 6 && (text[0] == '+' || text[0] == '-') && is_digits(text.substr(1, 2)) &&
         text[3] == ':' && is_digits(text.substr(4, 2));
}

}  // namespace

bool is_same(const MetricValue& a, const MetricValue& b) {
  if (a.index() != b.index()) return false;
  if (const JsonText* text = std::get_if<JsonText>(&a)) return *text == std::get<JsonText>(b);
  return std::bit_cast<std::uint64_t>(std::get<double>(a)) ==
         std::bit_cast<std::uint64_t>(std::get<double>(b));
}

const char* metric_type_name(MetricType type) {
  switch (type) {
    case MetricType::kNumber: return "number";
    case MetricType::kString: return "string";
    case MetricType::kBoolean: return "boolean";
    case MetricType::kObject: return "object";
    case MetricType::kArray: return "array";
    case MetricType::kDate: return "date";
    case MetricType::kNull: return "null";
    case MetricType::kMixed: return "string";
  }
  return "string";
}

MetricType type_of(const MetricValue& value) {
  const JsonText* json = std::get_if<JsonText>(&value);
  if (json == nullptr) return MetricType::kNumber;
  const std::string_view text = json->text;
  // A JsonText holds valid JSON: its first character tells the kind.
  switch (text.empty() ? ' ' : text.front()) {
    case '{': return MetricType::kObject;
    case '[': return MetricType::kArray;
    case 't':
    case 'f': return MetricType::kBoolean;
    case 'n': return MetricType::kNull;
    case '"':
      return text.size() > 2 && is_date(text.substr(1, text.size() - 2)) ? MetricType::kDate
                                                                         : MetricType::kString;
    default: return MetricType::kString;
  }
}

std::optional<double> MetricSummary::sum() const {
  if (finite_count + nan_count + positive_infinity_count + negative_infinity_count == 0)
    return std::nullopt;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // NaN wins over everything; two infinities of opposite signs give NaN.
  if (nan_count > 0 || (positive_infinity_count > 0 && negative_infinity_count > 0))
    return std::nan("");
  if (positive_infinity_count > 0) return kInfinity;
  if (negative_infinity_count > 0) return -kInfinity;
  return finite_sum;
}

std::optional<double> MetricSummary::mean() const {
  const std::optional<double> total = sum();
  if (!total) return std::nullopt;
  return *total / static_cast<double>(finite_count + nan_count + positive_infinity_count +
                                      negative_infinity_count);
}

std::optional<double> MetricSummary::min() const {
  // NaN is left out of the least and greatest as long as there is any number.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (negative_infinity_count > 0) return -kInfinity;
  if (finite_count > 0) return finite_min;
  if (positive_infinity_count > 0) return kInfinity;
  return nan_count > 0 ? std::optional<double>(std::nan("")) : std::nullopt;
}

std::optional<double> MetricSummary::max() const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (positive_infinity_count > 0) return kInfinity;
  if (finite_count > 0) return finite_max;
  if (negative_infinity_count > 0) return -kInfinity;
  return nan_count > 0 ? std::optional<double>(std::nan("")) : std::nullopt;
}

}  // namespace muster

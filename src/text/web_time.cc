// RFC 3339 with what clients write besides: a blank for T, a comma for the point, an offset
// without a colon, no offset at all.

#include "text/web_time.h"

#include <fmt/format.h>

#include <charconv>

#include "text/time_zone.h"

namespace muster {
namespace {

/// Takes exactly `digits` digits off the front.
bool consume_number(std::string_view& text, std::size_t digits, std::int64_t& value) {
  if (text.size() < digits) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value);
  // from_chars accepts a sign, so "-123" would pass as four digits.
  if (error != std::errc() || end != text.data() + digits || text.front() == '-') return false;
  text.remove_prefix(digits);
  return true;
}

bool consume(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == any_of.npos) return false;
  text.remove_prefix(1);
  return true;
}

/// The digits behind the point; false: there is none.
bool consume_microseconds(std::string_view& text, std::int64_t& value) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return false;
  int digits = 0;
  // Go writes nine digits, Python six; the rest is cut.
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1)) {
    if (digits < 6) {
      value = value * 10 + (text.front() - '0');
      ++digits;
    }
  }
  for (; digits < 6; ++digits) value *= 10;
  return true;
}

/// Seconds east of UTC; false: no offset.
bool consume_offset(std::string_view& text, std::int64_t& seconds) {
  if (text.empty() || consume(text, "Zz")) return true;
  const bool is_west = text.front() == '-';
  std::int64_t hours = 0;
  std::int64_t minutes = 0;
  if (!consume(text, "+-") || !consume_number(text, 2, hours)) return false;
  consume(text, ":");
  if (!consume_number(text, 2, minutes) || hours > 23 || minutes > 59) return false;
  seconds = (hours * 60 + minutes) * 60 * (is_west ? -1 : 1);
  return true;
}

}  // namespace

std::string web_time_text(TimePoint time) {
  if (!time.is_set() || time.is_never()) return "";
  const CivilTime civil = FixedZone().to_civil(time);
  // Positive also before 1970.
  const std::int64_t rest = ((time.microseconds() % 1'000'000) + 1'000'000) % 1'000'000;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", civil.year, civil.month,
                     civil.day, civil.hour, civil.minute, civil.second, rest);
}

Result<TimePoint> parse_web_time(std::string_view text) {
  std::string_view rest = text;
  CivilTime civil;
  std::int64_t offset = 0;
  bool is_good = consume_number(rest, 4, civil.year) && consume(rest, "-") &&
                 consume_number(rest, 2, civil.month) && consume(rest, "-") &&
                 consume_number(rest, 2, civil.day) && consume(rest, "Tt ") &&
                 consume_number(rest, 2, civil.hour) && consume(rest, ":") &&
                 consume_number(rest, 2, civil.minute) && consume(rest, ":") &&
                 consume_number(rest, 2, civil.second);
  std::int64_t fraction = 0;
  if (is_good && consume(rest, ".,")) is_good = consume_microseconds(rest, fraction);
  is_good = is_good && consume_offset(rest, offset) && rest.empty() && is_valid(civil);
  if (!is_good)
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is no point in time", text),
                "write 2026-08-21T16:00:00Z");
  return FixedZone().to_point(civil) + Duration::microseconds(fraction) - Duration::seconds(offset);
}

}  // namespace muster

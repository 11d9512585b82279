// Civil (wall clock) time and the rule that turns it into points in time. There is no zone database
// here: the command line implements ZoneRule with localtime_r and mktime, tests and plans use
// FixedZone.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace muster {

/// A day and time as a wall clock shows them. Shape: month 1..12, day 1..31, hour 0..23, minute
/// 0..59, second 0..60.
struct CivilTime {
  std::int64_t year = 1970;
  std::int64_t month = 1;
  std::int64_t day = 1;
  std::int64_t hour = 0;
  std::int64_t minute = 0;
  std::int64_t second = 0;
  friend auto operator<=>(const CivilTime&, const CivilTime&) = default;
};

/// Returns the days from 1970-01-01 to a Gregorian date. Requires: month 1..12; a day beyond the
/// month's end runs on.
std::int64_t days_from_date(std::int64_t year, std::int64_t month, std::int64_t day);
/// Returns the date (at midnight) that is so many days after 1970-01-01.
CivilTime date_from_days(std::int64_t days);
/// True when the parts name a real day and time.
bool is_valid(const CivilTime& time);

/// A zone's rule. Implementations are pure as far as their zone data are.
class ZoneRule {
 public:
  virtual ~ZoneRule() = default;
  /// Returns the point in time. Requires: is_valid(time). A time that the zone skips or repeats
  /// gives either neighbour.
  virtual TimePoint to_point(const CivilTime& time) const = 0;
  /// Returns the civil time. Fractions of a second are cut towards the past.
  virtual CivilTime to_civil(TimePoint point) const = 0;
};

/// A zone at a constant distance east of UTC; by default UTC itself.
class FixedZone final : public ZoneRule {
 public:
  explicit FixedZone(Duration east = {}) : east_(east) {}
  TimePoint to_point(const CivilTime& time) const override;
  CivilTime to_civil(TimePoint point) const override;

 private:
  Duration east_;
};

}  // namespace muster

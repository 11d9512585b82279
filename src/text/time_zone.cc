#include "text/time_zone.h"

#include <array>

namespace muster {
namespace {

constexpr std::int64_t kDayMicroseconds = 86'400'000'000;

// Rounds down, also before 1970 and before the year 0, where / rounds towards zero.
std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

bool is_leap(std::int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

std::int64_t days_in_month(std::int64_t year, std::int64_t month) {
  constexpr std::array<std::int64_t, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kDays[static_cast<std::size_t>(month - 1)];
}

bool is_within(std::int64_t value, std::int64_t low, std::int64_t high) {
  return low <= value && value <= high;
}

}  // namespace

// Years are counted from March, so that the leap day is their last: H. Hinnant, chrono-Compatible
// Low-Level Date Algorithms, "days_from_civil" and "civil_from_days". 719468 days lie between
// 0000-03-01 and 1970-01-01.
std::int64_t days_from_date(std::int64_t year, std::int64_t month, std::int64_t day) {
  const std::int64_t shifted = month <= 2 ? year - 1 : year;
  const std::int64_t era = floor_divide(shifted, 400);
  const std::int64_t year_of_era = shifted - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const std::int64_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

CivilTime date_from_days(std::int64_t days) {
  const std::int64_t z = days + 719468;
  const std::int64_t era = floor_divide(z, 146097);
  const std::int64_t day_of_era = z - era * 146097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted_month = (5 * day_of_year + 2) / 153;
  const std::int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  const std::int64_t day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month, day, 0, 0, 0};
}

bool is_valid(const CivilTime& time) {
  // 60: a leap second is accepted; POSIX time has none, so it is the first second of the next
  // minute.
  return is_within(time.year, 1900, 9999) && is_within(time.month, 1, 12) &&
         is_within(time.day, 1, days_in_month(time.year, time.month)) &&
         is_within(time.hour, 0, 23) && is_within(time.minute, 0, 59) &&
         is_within(time.second, 0, 60);
}

TimePoint FixedZone::to_point(const CivilTime& time) const {
  const std::int64_t seconds = days_from_date(time.year, time.month, time.day) * 86400 +
                               time.hour * 3600 + time.minute * 60 + time.second;
  return TimePoint::from_seconds(seconds) - east_;
}

CivilTime FixedZone::to_civil(TimePoint point) const {
  const std::int64_t us = (point + east_).microseconds();
  const std::int64_t days = floor_divide(us, kDayMicroseconds);
  // Not the difference to the day's begin: that of the earliest point lies before all points.
  const std::int64_t in_day = (us % kDayMicroseconds + kDayMicroseconds) % kDayMicroseconds;
  const std::int64_t seconds = in_day / 1'000'000;
  CivilTime civil = date_from_days(days);
  civil.hour = seconds / 3600;
  civil.minute = seconds / 60 % 60;
  civil.second = seconds % 60;
  return civil;
}

}  // namespace muster

#include "text/time_zone.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/rng.h"

namespace muster {
namespace {

TEST(TimeZone, DaysAreCountedFromTheEpoch) {
  struct Day {
    std::int64_t year, month, day, days;
  };
  // Source: Python's datetime.date.
  for (const auto& [year, month, day, days] :
       {Day{1970, 1, 1, 0}, Day{1969, 12, 31, -1}, Day{1900, 1, 1, -25567}, Day{2000, 2, 29, 11016},
        Day{2000, 3, 1, 11017}, Day{2100, 3, 1, 47541}, Day{9999, 12, 31, 2932896}}) {
    EXPECT_EQ(days_from_date(year, month, day), days) << year << "-" << month << "-" << day;
    EXPECT_EQ(date_from_days(days), (CivilTime{year, month, day, 0, 0, 0})) << days;
  }
}

TEST(TimeZone, DatesFollowEachOtherAsOnACalendar) {
  constexpr std::int64_t kLengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  std::int64_t days = days_from_date(1899, 12, 31);
  for (std::int64_t year = 1900; year <= 2401; ++year) {
    const bool is_leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0);
    for (std::int64_t month = 1; month <= 12; ++month) {
      const std::int64_t length = kLengths[month - 1] + (is_leap && month == 2 ? 1 : 0);
      for (std::int64_t day = 1; day <= length; ++day) {
        ASSERT_EQ(days_from_date(year, month, day), ++days) << year << "-" << month << "-" << day;
        ASSERT_EQ(date_from_days(days), (CivilTime{year, month, day, 0, 0, 0})) << days;
      }
      EXPECT_TRUE(is_valid({year, month, length, 0, 0, 0}));
      EXPECT_FALSE(is_valid({year, month, length + 1, 0, 0, 0})) << year << "-" << month;
    }
  }
}

TEST(TimeZone, ADayBeyondTheMonthsEndRunsOn) {
  EXPECT_EQ(days_from_date(2026, 1, 32), days_from_date(2026, 2, 1));
  EXPECT_EQ(days_from_date(2026, 12, 32), days_from_date(2027, 1, 1));
  EXPECT_EQ(days_from_date(2026, 3, 0), days_from_date(2026, 2, 28));
}

TEST(TimeZone, KnowsWhatIsNoTime) {
  const CivilTime good{2026, 8, 21, 23, 59, 60};
  EXPECT_TRUE(is_valid(good)) << "a leap second";
  for (const auto& [part, low, high] :
       {std::tuple(&CivilTime::year, 1900, 9999), std::tuple(&CivilTime::month, 1, 12),
        std::tuple(&CivilTime::day, 1, 31), std::tuple(&CivilTime::hour, 0, 23),
        std::tuple(&CivilTime::minute, 0, 59), std::tuple(&CivilTime::second, 0, 60)}) {
    CivilTime time = good;
    for (const std::int64_t value : {low, high}) {
      time.*part = value;
      EXPECT_TRUE(is_valid(time)) << value;
    }
    for (const std::int64_t value : {low - 1, high + 1}) {
      time.*part = value;
      EXPECT_FALSE(is_valid(time)) << value;
    }
  }
}

TEST(TimeZone, AFixedZoneIsAsFarFromUtcAsItSays) {
  const TimePoint noon = FixedZone().to_point({2026, 8, 21, 12, 0, 0});
  EXPECT_EQ(FixedZone(Duration::minutes(330)).to_civil(noon), (CivilTime{2026, 8, 21, 17, 30, 0}));
  EXPECT_EQ(FixedZone(Duration::hours(-13)).to_civil(noon), (CivilTime{2026, 8, 20, 23, 0, 0}));
  EXPECT_EQ(FixedZone(Duration::hours(2)).to_point({2026, 8, 21, 14, 0, 0}), noon);
  EXPECT_EQ(FixedZone().to_point({2026, 12, 31, 23, 59, 60}),
            FixedZone().to_point({2027, 1, 1, 0, 0, 0}));
}

TEST(TimeZone, FractionsAreCutTowardsThePastOnBothSidesOfTheEpoch) {
  const FixedZone utc;
  EXPECT_EQ(utc.to_civil(TimePoint::from_microseconds(999'999)), (CivilTime{1970, 1, 1, 0, 0, 0}));
  EXPECT_EQ(utc.to_civil(TimePoint::from_microseconds(-1)), (CivilTime{1969, 12, 31, 23, 59, 59}));
  EXPECT_EQ(utc.to_civil(TimePoint::from_microseconds(-1'000'001)),
            (CivilTime{1969, 12, 31, 23, 59, 58}));
}

TEST(TimeZone, EveryPointHasACivilTimeThatReadsBack) {
  constexpr std::uint64_t kSeed = 31;
  Rng rng(kSeed);
  for (int i = 0; i < 5000; ++i) {
    const FixedZone zone(Duration::minutes(rng.between(-14 * 60, 14 * 60)));
    const TimePoint point = TimePoint::from_seconds(rng.between(-2'000'000'000, 200'000'000'000));
    const CivilTime civil = zone.to_civil(point);
    ASSERT_TRUE(is_valid(civil)) << "seed " << kSeed << " round " << i;
    ASSERT_EQ(zone.to_point(civil), point) << "seed " << kSeed << " round " << i;
  }
}

TEST(TimeZone, TheEndsOfTimeHaveATimeOfDay) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  // Source: Linux's `date -u -d @9223372036854`, and @-9223372036855.
  EXPECT_EQ(FixedZone().to_civil(TimePoint::from_microseconds(kMost)),
            (CivilTime{294247, 1, 10, 4, 0, 54}));
  EXPECT_EQ(FixedZone().to_civil(TimePoint::from_microseconds(-kMost)),
            (CivilTime{-290308, 12, 21, 19, 59, 5}));
}

}  // namespace
}  // namespace muster

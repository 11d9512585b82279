#include "slurm/time_text.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace muster {
namespace {

const FixedZone kUtc;

TimePoint at(std::string_view iso) {
  return parse_time(iso, {TimePoint::from_seconds(1), kUtc}).value();
}

// Wednesday 2026-08-19, 13:30:15.
const char* const kNow = "2026-08-19T13:30:15";

std::string read(std::string_view text, TimeDirection direction = TimeDirection::kFuture) {
  const auto time = parse_time(text, {at(kNow) + Duration::milliseconds(700), kUtc, direction});
  return time.has_value() ? iso_time_text(*time, kUtc) : time.error().message;
}

TEST(TimeText, ReadsWhatUsersWriteForTheFuture) {
  const std::pair<const char*, const char*> cases[] = {
      {"now", "2026-08-19T13:30:15"},
      {"NOW+60", "2026-08-19T13:31:15"},
      {"now+1hour", "2026-08-19T14:30:15"},
      {"now + 2 days", "2026-08-21T13:30:15"},
      {"now+1w", "2026-08-26T13:30:15"},
      {"now+5min", "2026-08-19T13:35:15"},
      {"now-2days", "2026-08-17T13:30:15"},
      {"today", "2026-08-19T00:00:00"},
      {"tomorrow", "2026-08-20T00:00:00"},
      {"midnight", "2026-08-20T00:00:00"},
      {"noon", "2026-08-20T12:00:00"},
      {"elevenses", "2026-08-20T11:00:00"},
      {"fika", "2026-08-19T15:00:00"},
      {"Teatime", "2026-08-19T16:00:00"},
      {"16:00", "2026-08-19T16:00:00"},
      {"4pm", "2026-08-19T16:00:00"},
      {"4:30 PM", "2026-08-19T16:30:00"},
      {"12am", "2026-08-20T00:00:00"},
      {"12pm", "2026-08-20T12:00:00"},
      {"9:05:07", "2026-08-20T09:05:07"},
      {"tomorrow 16:00", "2026-08-20T16:00:00"},
      {"16:00 tomorrow", "2026-08-20T16:00:00"},
      {"noon today", "2026-08-19T12:00:00"},
      {"0821", "2026-08-21T00:00:00"},
      {"0801", "2027-08-01T00:00:00"},
      {"082127", "2027-08-21T00:00:00"},
      {"08/21", "2026-08-21T00:00:00"},
      {"8/1/26", "2026-08-01T00:00:00"},
      {"08.21.2027", "2027-08-21T00:00:00"},
      {"0229", "2028-02-29T00:00:00"},
      {"0819 14:00", "2026-08-19T14:00:00"},
      {"2026-08-21", "2026-08-21T00:00:00"},
      {"2026-08-21T16:07", "2026-08-21T16:07:00"},
      {"2026-08-21t16:07:09", "2026-08-21T16:07:09"},
      {"2026-08-21 16:07:09", "2026-08-21T16:07:09"},
      {"1970-01-01-00:00:01", "1970-01-01T00:00:01"},
      {"uts86400", "1970-01-02T00:00:00"},
  };
  for (const auto& [text, iso] : cases) EXPECT_EQ(read(text), iso) << text;
}

TEST(TimeText, LooksBackForTheAccountingCommands) {
  EXPECT_EQ(read("16:00", TimeDirection::kPast), "2026-08-18T16:00:00");
  EXPECT_EQ(read("noon", TimeDirection::kPast), "2026-08-19T12:00:00");
  EXPECT_EQ(read("0821", TimeDirection::kPast), "2025-08-21T00:00:00");
  EXPECT_EQ(read("0229", TimeDirection::kPast), "2024-02-29T00:00:00");
  EXPECT_EQ(read("2027-01-01", TimeDirection::kPast), "2027-01-01T00:00:00");
}

TEST(TimeText, RefusesOtherTexts) {
  for (const char* bad : {"",
                          "soon",
                          "now*2",
                          "now+",
                          "now+1fortnight",
                          "now+999999999999",
                          "now+1000000weeks",
                          "25:00",
                          "1:60",
                          "13pm",
                          "0am",
                          "16",
                          "12345",
                          "1301",
                          "0230",
                          "2026-02-29",
                          "26-01-01",
                          "2026-1",
                          "16:00 17:00",
                          "today tomorrow",
                          "1:2:3:4",
                          "utsx",
                          "2026-08-21Tx",
                          "a/b",
                          "123:00",
                          "pm"}) {
    EXPECT_EQ(read(bad), "Invalid time specification") << bad;
  }
  EXPECT_NE(parse_time("soon", {at(kNow), kUtc}).error().detail.find("'soon'"), std::string::npos);
}

TEST(TimeText, FollowsTheZone) {
  const FixedZone east(Duration::hours(2));
  const TimePoint now = at("2026-08-19T23:30:00");  // already the 20th in the zone
  EXPECT_EQ(parse_time("today", {now, east}).value(), at("2026-08-19T22:00:00"));
  EXPECT_EQ(iso_time_text(now, east), "2026-08-20T01:30:00");
}

TEST(TimeText, PrintsAbsentTimes) {
  EXPECT_EQ(time_text(TimePoint::unset(), kUtc), "Unknown");
  EXPECT_EQ(time_text(TimePoint::never(), kUtc, "N/A"), "N/A");
  EXPECT_EQ(time_text(at(kNow), kUtc, "N/A"), kNow);
}

TEST(TimeText, DaysAndDatesAgreeBothWays) {
  constexpr std::uint64_t kSeed = 11;
  Rng rng(kSeed);
  for (int i = 0; i < 20000; ++i) {
    const TimePoint point = TimePoint::from_seconds(rng.between(-2'208'988'800, 253'402'300'799));
    const CivilTime civil = kUtc.to_civil(point);
    ASSERT_TRUE(is_valid(civil)) << "seed " << kSeed << " round " << i;
    ASSERT_EQ(kUtc.to_point(civil), point) << "seed " << kSeed << " round " << i;
  }
  EXPECT_EQ(days_from_date(2000, 3, 1), 11017);
}

}  // namespace
}  // namespace muster

#include "slurm/duration_text.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace muster {
namespace {

TEST(DurationText, ReadsEveryForm) {
  const std::pair<const char*, std::int64_t> cases[] = {
      {"5", 300},       {"1:30", 90},      {"90:00", 5400},       {"1:02:03", 3723},
      {"2-12", 216000}, {"1-2:30", 95400}, {"1-02:03:04", 93784}, {"0", 0},
      {" 30 ", 1800},   {"0:90", 90},      {"1-", 86400},         {"4294967294", 257698037640},
  };
  for (const auto& [text, seconds] : cases) {
    EXPECT_EQ(parse_duration(text).value(), Duration::seconds(seconds)) << text;
  }
  for (const char* text : {"UNLIMITED", "infinite", "-1"}) {
    EXPECT_TRUE(parse_duration(text).value().is_infinite()) << text;
  }
}

TEST(DurationText, RefusesOtherTexts) {
  for (const char* bad : {"", "1h", "1:2:3:4", "-", "-5", "1-1-1", "1:", ":1", "1-1:2:3:4",
                          "4294967295", "99999999-0", "4294967294:59", "1.5"}) {
    const auto duration = parse_duration(bad);
    ASSERT_FALSE(duration.has_value()) << bad;
    EXPECT_EQ(duration.error().message, "Invalid time limit specification");
    EXPECT_NE(duration.error().detail.find(std::string("'") + bad + "'"), std::string::npos);
  }
}

TEST(DurationText, LimitsAreWholeMinutesAndZeroIsNoLimit) {
  EXPECT_EQ(parse_time_limit("0:01").value(), Duration::minutes(1));
  EXPECT_EQ(parse_time_limit("1:00").value(), Duration::minutes(1));
  EXPECT_TRUE(parse_time_limit("0").value().is_infinite());
  EXPECT_TRUE(parse_time_limit("UNLIMITED").value().is_infinite());
  EXPECT_FALSE(parse_time_limit("soon").has_value());
}

TEST(DurationText, PrintsBothForms) {
  struct Case {
    Duration duration;
    const char* shorter;
    const char* padded;
  };
  const Case cases[] = {
      {Duration::seconds(0), "0:00", "00:00:00"},
      {Duration::seconds(5), "0:05", "00:00:05"},
      {Duration::minutes(1), "1:00", "00:01:00"},
      {Duration::minutes(30), "30:00", "00:30:00"},
      {Duration::seconds(3723), "1:02:03", "01:02:03"},
      {Duration::seconds(93784), "1-02:03:04", "1-02:03:04"},
      {Duration::hours(24), "1-00:00:00", "1-00:00:00"},
      {Duration::infinite(), "UNLIMITED", "UNLIMITED"},
      {Duration::seconds(-1), "INVALID", "INVALID"},
      {Duration::milliseconds(1999), "0:01", "00:00:01"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(short_duration_text(c.duration), c.shorter);
    EXPECT_EQ(padded_duration_text(c.duration), c.padded);
  }
}

TEST(DurationText, PaddedFormReadsBack) {
  constexpr std::uint64_t kSeed = 7;
  Rng rng(kSeed);
  for (int i = 0; i < 1000; ++i) {
    const Duration duration = Duration::seconds(rng.between(0, 10'000'000));
    EXPECT_EQ(parse_duration(padded_duration_text(duration)).value(), duration) << "seed " << kSeed;
  }
}

TEST(DurationText, TheLongestIsFourBillionMinutes) {
  EXPECT_EQ(parse_duration("4294967294").value(), Duration::minutes(4294967294));
  EXPECT_EQ(parse_duration("2982616-04:14:00").value(), Duration::minutes(4294967294));
  EXPECT_FALSE(parse_duration("2982616-04:14:01").has_value());
  EXPECT_FALSE(parse_duration("2982616-04:15").has_value());
  for (const char* bad : {"18446744073709551615", "18446744073709551616", "1-18446744073709551615",
                          "99999999999:59:59", "1:18446744073709551615:0"})
    EXPECT_FALSE(parse_duration(bad).has_value()) << bad;
  EXPECT_EQ(padded_duration_text(Duration::minutes(4294967294)), "2982616-04:14:00");
}

TEST(DurationText, ALimitNeverBecomesShorter) {
  for (std::int64_t seconds = 1; seconds < 200; ++seconds) {
    const auto limit = parse_time_limit("0:" + std::to_string(seconds)).value();
    EXPECT_GE(limit, Duration::seconds(seconds));
    EXPECT_LT(limit, Duration::seconds(seconds + 60));
    EXPECT_EQ(limit.seconds() % 60, 0);
  }
}

}  // namespace
}  // namespace muster

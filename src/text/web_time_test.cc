#include "text/web_time.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/rng.h"

namespace muster {
namespace {

const TimePoint kTime = TimePoint::from_microseconds(1'787'328'000'123'456);

TEST(WebTime, RoundTrips) {
  EXPECT_EQ(web_time_text(kTime), "2026-08-21T16:00:00.123456Z");
  for (const char* text : {"2026-08-21T16:00:00.123456Z", "2026-08-21T18:00:00.1234567+02:00",
                           "2026-08-21 16:00:00.123456", "2026-08-21T10:30:00.123456789-0530",
                           "2026-08-21t16:00:00,123456z"}) {
    EXPECT_EQ(parse_web_time(text).value(), kTime) << text;
  }
  EXPECT_EQ(parse_web_time("2026-08-21T16:00:00Z").value(),
            kTime - Duration::microseconds(123'456));
}

TEST(WebTime, UnsetAndNeverAreEmpty) {
  EXPECT_EQ(web_time_text(TimePoint()), "");
  EXPECT_EQ(web_time_text(TimePoint::never()), "");
}

TEST(WebTime, ReadsTheExamplesOfTheStandard) {
  // Source: RFC 3339, section 5.8; the seconds by `date -u -d TEXT +%s`.
  const std::pair<const char*, std::int64_t> examples[] = {
      {"1985-04-12T23:20:50.52Z", 482'196'050'520'000},
      {"1996-12-19T16:39:57-08:00", 851'042'397'000'000},
      {"1990-12-31T23:59:60Z", 662'688'000'000'000},
      {"1990-12-31T15:59:60-08:00", 662'688'000'000'000},
      {"1937-01-01T12:00:27.87+00:20", -1'041'337'172'130'000}};
  for (const auto& [text, microseconds] : examples)
    EXPECT_EQ(parse_web_time(text).value().microseconds(), microseconds) << text;
}

TEST(WebTime, OffsetsGoEastAndWest) {
  const auto at = [](const std::string& offset) {
    const auto time = parse_web_time("2026-08-21T16:00:00.123456" + offset);
    return time.has_value() ? (kTime - *time).seconds() / 60 : INT64_MIN;
  };
  EXPECT_EQ(at("+05:30"), 330);
  EXPECT_EQ(at("-03:30"), -210);
  EXPECT_EQ(at("-00:30"), -30) << "the sign is that of the minutes, too";
  EXPECT_EQ(at("-00:00"), 0);
  EXPECT_EQ(at("+14:00"), 840);
  EXPECT_EQ(at("+23:59"), 1439);
  EXPECT_EQ(at("-23:59"), -1439);
}

TEST(WebTime, OffsetsOfNoClockAreRefused) {
  for (const char* offset :
       {"+24:00", "+23:60", "-99:99", "+05:99", "+2400", "+5:30", "+05", "+05:", "+05:3", "+05:300",
        "+-5:30", "+05:-3", "05:30", "Z+00:00", "+", "UTC", "+ 5:30", "++05:30"}) {
    EXPECT_FALSE(parse_web_time(std::string("2026-08-21T16:00:00") + offset).has_value()) << offset;
  }
}

TEST(WebTime, FractionsHaveDigitsOfWhichSixCount) {
  const auto fraction = [](const std::string& digits) {
    const auto time = parse_web_time("1970-01-01T00:00:01." + digits + "Z");
    return time.has_value() ? time->microseconds() - 1'000'000 : -1;
  };
  EXPECT_EQ(fraction("5"), 500'000);
  EXPECT_EQ(fraction("000001"), 1);
  EXPECT_EQ(fraction("0000009"), 0);
  EXPECT_EQ(fraction("999999999999999999999999"), 999'999);
  EXPECT_EQ(fraction(""), -1);
  EXPECT_EQ(fraction("-5"), -1);
  EXPECT_EQ(fraction("5.5"), -1);
}

TEST(WebTime, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "2026-08-21", "2026-13-21T16:00:00Z", "2026-08-21T16:00:00X", "2026-08-21T16:00:00Z ",
        "-026-08-21T16:00:00Z", "2026-02-29T00:00:00Z", "2026-08-21T24:00:00Z",
        "2026-08-21T16:60:00Z", "2026-08-21T16:00:61Z", "2026-8-21T16:00:00Z", "2026-08-21T16:00Z",
        " 2026-08-21T16:00:00Z", "2026-08-21_16:00:00Z", "26-08-21T16:00:00Z",
        "2026-08-21T16:00:00.Z", "2026-08-21T16:00:-1Z"}) {
    const auto time = parse_web_time(text);
    ASSERT_FALSE(time.has_value()) << text;
    EXPECT_EQ(time.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(time.error().message, fmt::format("'{}' is no point in time", text));
  }
}

TEST(WebTime, WhatIsWrittenReadsBackUnderEveryOffset) {
  constexpr std::uint64_t kSeed = 37;
  Rng rng(kSeed);
  for (int i = 0; i < 2000; ++i) {
    const TimePoint time =
        TimePoint::from_microseconds(rng.between(-2'000'000'000'000'000, 200'000'000'000'000'000));
    const std::string text = web_time_text(time);
    ASSERT_EQ(parse_web_time(text).value(), time) << "seed " << kSeed << ": " << text;
    const std::int64_t minutes = rng.between(-1439, 1439);
    const std::string local =
        fmt::format("{}{}{:02}:{:02}", text.substr(0, text.size() - 1), minutes < 0 ? '-' : '+',
                    std::abs(minutes) / 60, std::abs(minutes) % 60);
    ASSERT_EQ(parse_web_time(local).value(), time - Duration::minutes(minutes))
        << "seed " << kSeed << ": " << local;
  }
}

}  // namespace
}  // namespace muster

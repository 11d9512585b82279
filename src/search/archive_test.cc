#include "search/archive.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/rng.h"
#include "model/ids.h"

namespace muster::search {
namespace {

enum class Colour : std::uint8_t { kRed = 0, kBlue = 7 };
struct Inner {
  std::int32_t number = 0;
  std::string text;
  void archive(Archive& archive) { archive.fields(number, text); }
  friend bool operator==(const Inner&, const Inner&) = default;
};
/// One of every kind of field.
struct Everything {
  bool flag = false;
  std::int64_t whole = 0;
  Colour colour = Colour::kRed;
  double number = 0;
  std::string text;
  Json json;
  TrialId trial;
  std::optional<double> maybe;
  std::vector<Inner> list;
  std::map<std::uint32_t, std::string> map;
  void archive(Archive& archive) {
    archive.fields(flag, whole, colour, number, text, json, trial, maybe, list, map);
  }
  friend bool operator==(const Everything&, const Everything&) = default;
};

Everything example() {
  return {true,
          INT64_MIN,
          Colour::kBlue,
          -0.1,
          std::string("a\0b\xff", 4),
          Json(Json::Object{{"a", Json(Json::Array{1, 2.5, true, "x", Json()})}}),
          TrialId(UINT32_MAX),
          3.5,
          {{-1, "one"}, {2, ""}},
          {{7, "seven"}, {1, "one"}}};
}
template <class T>
std::string written(T value) {
  Archive archive;
  archive.field(value);
  return archive.bytes();
}

TEST(Archive, WhatIsWrittenIsReadBack) {
  const std::string bytes = written(example());
  Archive archive(bytes);
  Everything back;
  archive.field(back);
  EXPECT_TRUE(archive.is_ok());
  EXPECT_TRUE(archive.is_at_end());
  EXPECT_EQ(back, example());
}

TEST(Archive, ReadingReplacesWhatWasThere) {
  const std::string bytes = written(Everything());
  Archive archive(bytes);
  Everything back = example();
  archive.field(back);
  EXPECT_EQ(back, Everything());
}

TEST(Archive, NumbersAreTheirBitsLowestByteFirst) {
  EXPECT_EQ(written(std::uint32_t{0x01020304}), std::string("\x04\x03\x02\x01", 4));
  EXPECT_EQ(written(std::int16_t{-2}), std::string("\xfe\xff", 2));
  EXPECT_EQ(written(1.0), std::string("\0\0\0\0\0\0\xf0\x3f", 8)) << "IEEE 754";
  EXPECT_EQ(written(true), std::string("\x01", 1));
  EXPECT_EQ(written(std::string("ab")), std::string("\x02\0\0\0\0\0\0\0ab", 10));
}

TEST(Archive, EveryNumberKeepsItsBits) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const double number : {0.0, -0.0, kNan, -kNan, std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::denorm_min(), 1e308}) {
    const std::string bytes = written(number);
    Archive archive(bytes);
    double back = 1;
    archive.field(back);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(back), std::bit_cast<std::uint64_t>(number));
  }
}

TEST(Archive, BytesThatEndEarlyLeaveZerosAndAreNoted) {
  const std::string bytes = written(example());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Archive archive(std::string_view(bytes).substr(0, size));
    Everything back;
    archive.field(back);
    EXPECT_FALSE(archive.is_ok()) << size;
  }
  Archive none((std::string_view()));
  std::uint64_t number = 5;
  none.field(number);
  EXPECT_EQ(number, 0U);
  EXPECT_FALSE(none.is_ok());
}

TEST(Archive, WhatIsLeftOverIsSeen) {
  const std::string bytes = written(std::uint8_t{1}) + "x";
  Archive archive(bytes);
  std::uint8_t number = 0;
  archive.field(number);
  EXPECT_TRUE(archive.is_ok());
  EXPECT_FALSE(archive.is_at_end());
}

TEST(Archive, AListThatIsLongerThanItsBytesIsNotMade) {
  const std::string bytes = written(std::uint64_t{1} << 60);
  Archive archive(bytes);
  std::vector<std::uint64_t> values;
  archive.field(values);
  EXPECT_FALSE(archive.is_ok());
  EXPECT_TRUE(values.empty());
  Archive text(bytes);
  std::string read;
  text.field(read);
  EXPECT_FALSE(text.is_ok());
  EXPECT_EQ(read, "");
}

TEST(Archive, ValuesThatNestWithoutEndAreRefused) {
  std::string bytes;
  for (int i = 0; i < 100'000; ++i) bytes += written(std::uint8_t{5}) + written(std::uint64_t{1});
  Archive archive(bytes);
  Json value;
  archive.field(value);
  EXPECT_FALSE(archive.is_ok());
}

TEST(Archive, ArbitraryBytesAreReadInBoundedTime) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Rng rng(seed);
    std::string bytes(rng.below(200), '\0');
    for (char& c : bytes) c = static_cast<char>(rng.chance(0.5) ? rng.below(8) : rng.below(256));
    Archive archive(bytes);
    Everything back;
    archive.field(back);
    if (archive.is_ok() && archive.is_at_end() && !std::isnan(back.number)) {
      const std::string again = written(back);
      Archive second(again);
      Everything same;
      second.field(same);
      EXPECT_EQ(written(same), again) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace muster::search

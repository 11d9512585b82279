#include "base/rng.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <set>

namespace muster {
namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

TEST(Rng, TheSeedDecidesAll) {
  Rng a(7);
  Rng b(7);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.below(1000), b.below(1000));
}

TEST(Rng, GivesTheNumbersThatWerePublishedWithTheAlgorithm) {
  // Source: https://prng.di.unimi.it/splitmix64.c with seed 0; rosettacode.org, "Splitmix64".
  Rng zero(0);
  EXPECT_EQ(zero.next(), 0xe220a8397b1dcdafULL);
  EXPECT_EQ(zero.next(), 0x6e789e6aa1b965f4ULL);
  Rng other(1234567);
  for (const std::uint64_t published :
       {6457827717110365317ULL, 3203168211198807973ULL, 9817491932198370423ULL,
        4593380528125082431ULL, 16408922859458223821ULL}) {
    EXPECT_EQ(other.next(), published);
  }
}

TEST(Rng, ACopyMadeOfTheStateGoesOnFromHere) {
  Rng first(3);
  for (int i = 0; i < 10; ++i) first.next();
  Rng copy(first.state());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(copy.next(), first.next());
}

TEST(Rng, BelowStaysBelowAndReachesEveryNumber) {
  Rng rng(5);
  for (const std::uint64_t bound : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{7}}) {
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 300; ++i) seen.insert(rng.below(bound));
    EXPECT_EQ(seen.size(), bound);
    EXPECT_EQ(*seen.rbegin(), bound - 1);
  }
  for (int i = 0; i < 100; ++i) EXPECT_LT(rng.below(UINT64_MAX), UINT64_MAX);
}

TEST(Rng, BetweenReachesBothEndsAndNothingBeyond) {
  Rng rng(11);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 500; ++i) seen.insert(rng.between(-2, 3));
  EXPECT_EQ(seen, (std::set<std::int64_t>{-2, -1, 0, 1, 2, 3}));
  EXPECT_EQ(rng.between(4, 4), 4);
  for (const std::int64_t end : {kLowest, kHighest}) EXPECT_EQ(rng.between(end, end), end);
}

TEST(Rng, BetweenKnowsRangesThatAreWiderThanASignedNumberHolds) {
  struct Range {
    std::int64_t low;
    std::int64_t high;
  };
  for (const auto& [low, high] :
       {Range{kLowest, kHighest}, Range{kLowest, kHighest - 1}, Range{kLowest + 1, kHighest},
        Range{kLowest, 0}, Range{-1, kHighest}, Range{kLowest, -2}, Range{2, kHighest}}) {
    Rng rng(13);
    double sum = 0;
    constexpr int kRounds = 2000;
    for (int i = 0; i < kRounds; ++i) {
      const std::int64_t value = rng.between(low, high);
      ASSERT_LE(low, value);
      ASSERT_LE(value, high);
      sum += static_cast<double>(value) / kRounds;
    }
    // A twentieth of the width is more than seven times the deviation of the mean of so many.
    const double width = static_cast<double>(high) - static_cast<double>(low);
    const double middle = static_cast<double>(low) / 2 + static_cast<double>(high) / 2;
    EXPECT_LT(std::abs(sum - middle), width / 20) << low << " " << high;
  }
}

TEST(Rng, UnitsFillTheHalfOpenIntervalEvenly) {
  Rng rng(17);
  std::array<int, 10> buckets{};
  for (int i = 0; i < 10'000; ++i) {
    const double value = rng.unit();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    ++buckets[static_cast<std::size_t>(value * 10)];
  }
  // 1000 are expected in each; five sigma are 150.
  for (const int count : buckets) EXPECT_LT(std::abs(count - 1000), 150);
}

TEST(Rng, WhatIsCertainHappensAndWhatIsImpossibleDoesNot) {
  Rng rng(19);
  int often = 0;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(rng.chance(1.0));
    EXPECT_FALSE(rng.chance(0.0));
    often += rng.chance(0.9) ? 1 : 0;
  }
  EXPECT_GT(often, 850);
  EXPECT_LT(often, 950);
}

TEST(RngDeathTest, AnEmptyRangeIsABug) {
  Rng rng(1);
  EXPECT_DEATH(rng.below(0), "bound > 0");
  EXPECT_DEATH(rng.between(1, 0), "low <= high");
}

}  // namespace
}  // namespace muster

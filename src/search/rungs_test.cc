#include "search/rungs.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace muster::search {
namespace {

using Units = std::vector<std::uint64_t>;

TEST(RungUnits, EachIsADivisorthOfTheNextAndOneAtLeast) {
  EXPECT_EQ(rung_units(1, 7, 4), (Units{7}));
  EXPECT_EQ(rung_units(5, 81, 3), (Units{1, 3, 9, 27, 81}));
  EXPECT_EQ(rung_units(4, 10, 4), (Units{1, 1, 2, 10}));
  EXPECT_EQ(rung_units(3, 1, 3), (Units{1, 1, 1}));
  EXPECT_EQ(rung_units(3, 100, 2.5), (Units{16, 40, 100}));
}

TEST(RungUnits, RiseToTheLastWhateverTheSizes) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Rng rng(seed);
    const auto max_time = static_cast<std::uint64_t>(rng.between(1, 1'000'000));
    const auto units =
        rung_units(static_cast<std::uint32_t>(1 + rng.below(8)), max_time, 1.1 + rng.unit() * 5);
    EXPECT_TRUE(std::ranges::is_sorted(units)) << "seed " << seed;
    EXPECT_GE(units.front(), 1U);
    EXPECT_EQ(units.back(), max_time) << "seed " << seed;
  }
}

TEST(WholeLog, IsExactAtPowers) {
  for (const std::uint64_t divisor : {2U, 3U, 4U, 5U, 7U, 10U}) {
    std::uint64_t power = 1;
    for (std::uint32_t n = 0; power < 1'000'000'000'000; ++n, power *= divisor) {
      const auto value = static_cast<double>(power);
      EXPECT_EQ(whole_log(value, static_cast<double>(divisor)), n) << divisor << "^" << n;
      if (n == 0) continue;
      EXPECT_EQ(whole_log(value - 1, static_cast<double>(divisor)), power == 2 ? 0 : n - 1);
      EXPECT_EQ(whole_log(value + 1, static_cast<double>(divisor)), divisor == 2 && n == 0 ? 1 : n);
    }
  }
  EXPECT_EQ(whole_log(2.25, 1.5), 2U);
}

TEST(HalvingConcurrency, AsManyAsItTakesForOneToReachTheTop) {
  EXPECT_EQ(halving_concurrency({3, 100, 3, 9, false}), 9U);
  EXPECT_EQ(halving_concurrency({1, 100, 3, 9, false}), 1U);
  EXPECT_EQ(halving_concurrency({3, 5, 3, 9, false}), 5U) << "no more than there are";
  EXPECT_EQ(halving_concurrency({60, 100, 10, 9, false}), 100U) << "however large the power";
}

RungEntry entry(std::uint32_t trial, double metric) { return {TrialIndex(trial), metric}; }

TEST(RungEntries, AreOrderedByMetricThenByTrial) {
  EXPECT_TRUE(is_before(entry(9, 0.1), entry(1, 0.2)));
  EXPECT_TRUE(is_before(entry(1, 0.2), entry(2, 0.2)));
  EXPECT_FALSE(is_before(entry(2, 0.2), entry(2, 0.2)));
}

TEST(RungEntries, ARankIsThePlaceBeforeThoseThatAreNoBetter) {
  std::vector<RungEntry> entries;
  EXPECT_EQ(insert_ranked(entries, entry(0, 0.5)), 0U);
  EXPECT_EQ(insert_ranked(entries, entry(1, 0.7)), 1U);
  EXPECT_EQ(insert_ranked(entries, entry(2, 0.6)), 1U);
  EXPECT_EQ(insert_ranked(entries, entry(3, 0.5)), 0U) << "as good: before";
  std::vector<std::uint32_t> order;
  for (const RungEntry& one : entries) order.push_back(one.trial.value());
  EXPECT_EQ(order, (std::vector<std::uint32_t>{3, 0, 2, 1}));
}

}  // namespace
}  // namespace muster::search

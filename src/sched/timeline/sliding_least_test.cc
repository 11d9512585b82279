#include "sched/timeline/sliding_least.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace muster::sched {
namespace {

TEST(SlidingLeast, IsTheLeastOfEachInTheWindow) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    std::vector<Capacity> all(1 + rng.below(30));
    for (Capacity& one : all) {
      one.tasks = static_cast<std::uint32_t>(rng.below(9));
      one.share_count = 2;
      one.shares = {static_cast<std::uint32_t>(rng.below(9)),
                    static_cast<std::uint32_t>(rng.below(9))};
    }
    SlidingLeast sliding;
    sliding.begin(all);
    std::size_t first = 0;
    std::size_t last = 1;
    for (int step = 0; step < 60; ++step) {
      last = std::min<std::size_t>(all.size(), last + rng.below(4));
      first = std::min<std::size_t>(last - 1, first + rng.below(3));
      Capacity expected = all[first];
      for (std::size_t i = first; i < last; ++i) limit(expected, all[i]);
      ASSERT_EQ(sliding.of(first, last), expected) << first << " to " << last;
    }
  }
}

}  // namespace
}  // namespace muster::sched

#include "sched/priority/rank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/rng.h"

namespace muster::sched {
namespace {

Rank rank(std::int64_t priority, std::int64_t submit, std::uint32_t place, std::uint32_t job) {
  return {priority, TimePoint::from_seconds(submit), JobId(place), JobId(job)};
}

TEST(Rank, PriorityThenSubmissionThenPlaceThenId) {
  EXPECT_LT(rank(9, 5, 5, 5), rank(8, 1, 1, 1)) << "the higher priority goes first";
  EXPECT_LT(rank(9, 1, 5, 5), rank(9, 2, 1, 1)) << "then who came first";
  EXPECT_LT(rank(9, 1, 1, 5), rank(9, 1, 2, 1)) << "then the lower place";
  EXPECT_LT(rank(9, 1, 1, 1), rank(9, 1, 1, 2)) << "then the lower id";
  EXPECT_EQ(rank(9, 1, 1, 1), rank(9, 1, 1, 1));
  EXPECT_LT(rank(0, 9, 9, 9), rank(-1, 1, 1, 1));
  EXPECT_LT(rank(INT64_MAX, 1, 1, 1), rank(INT64_MIN, 1, 1, 1));
}

TEST(Rank, TheTierStandsBeforeEverything) {
  EXPECT_LT((QueueRank{2, rank(0, 9, 9, 9)}), (QueueRank{1, rank(99, 1, 1, 1)}));
  EXPECT_LT((QueueRank{1, rank(2, 1, 1, 1)}), (QueueRank{1, rank(1, 1, 1, 1)}));
  EXPECT_EQ((QueueRank{1, rank(2, 1, 1, 1)}), (QueueRank{1, rank(2, 1, 1, 1)}));
  EXPECT_LT((QueueRank{UINT32_MAX, rank(0, 0, 0, 0)}), (QueueRank{0, rank(0, 0, 0, 0)}));
}

TEST(Rank, IsATotalOrder) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    std::vector<QueueRank> ranks;
    for (std::uint32_t id = 0; id < 30; ++id) {
      ranks.push_back({static_cast<std::uint32_t>(rng.below(2)),
                       rank(rng.between(-1, 1), rng.between(0, 2),
                            static_cast<std::uint32_t>(rng.below(3)), id)});
    }
    std::vector<QueueRank> other(ranks.rbegin(), ranks.rend());
    std::ranges::sort(ranks);
    std::ranges::sort(other);
    EXPECT_EQ(ranks, other) << "seed " << seed;
    for (std::size_t i = 1; i < ranks.size(); ++i) EXPECT_LT(ranks[i - 1], ranks[i]);
  }
}

}  // namespace
}  // namespace muster::sched

#include "sched/priority/share.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/rng.h"

namespace muster::sched {
namespace {

TimePoint second(int second) { return TimePoint::from_seconds(second); }

SharedJob job(std::uint32_t id, std::uint32_t group, std::uint32_t priority = 42,
              double weight = 1) {
  const Rank own{1, second(static_cast<int>(id)), JobId(id), JobId(id)};
  return {own, group, priority, weight, 1};
}

std::vector<std::uint32_t> order_of(const std::vector<Rank>& ranks) {
  std::vector<Rank> sorted = ranks;
  std::ranges::sort(sorted);
  std::vector<std::uint32_t> ids;
  for (const Rank& rank : sorted) ids.push_back(rank.job.value());
  return ids;
}

using Ids = std::vector<std::uint32_t>;

TEST(Share, TheMoreImportantExperimentGoesFirst) {
  EXPECT_EQ(order_of(share_positions({job(1, 7), job(2, 7), job(3, 8, 10)}, {})), (Ids{3, 1, 2}));
}

TEST(Share, OfEqualPriorityTheWeightDecides) {
  std::vector<SharedJob> jobs;
  for (std::uint32_t id = 1; id <= 8; ++id)
    jobs.push_back(job(id, id <= 4 ? 1 : 2, 42, id <= 4 ? 1 : 3));
  const Ids order = order_of(share_positions(jobs, {}));
  // Three of the heavier for one of the lighter, as far as there are any.
  EXPECT_EQ(order, (Ids{1, 5, 6, 7, 2, 8, 3, 4}));
}

TEST(Share, WhatRunsCounts) {
  EXPECT_EQ(order_of(share_positions({job(1, 1), job(2, 2)}, {{1, 2.0}})), (Ids{2, 1}));
}

TEST(Share, PlacesOfAnotherPriorityOfTheQueueStay) {
  SharedJob urgent = job(9, 1);
  urgent.own.priority = 5;
  EXPECT_EQ(order_of(share_positions({job(1, 1), job(2, 2, 1), urgent}, {})), (Ids{9, 2, 1}));
}

TEST(Share, ThePlacesAreTheSameOnes) {
  const auto seed = static_cast<std::uint64_t>(::testing::UnitTest::GetInstance()->random_seed());
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  std::vector<SharedJob> jobs;
  for (std::uint32_t id = 1; id <= 200; ++id) {
    jobs.push_back(job(id, static_cast<std::uint32_t>(rng.below(7))));
    jobs.back().priority = 1 + jobs.back().group % 3;
    jobs.back().weight = 1 + jobs.back().group;
    jobs.back().own.priority = rng.between(0, 1);
    jobs.back().own.submit_time = second(static_cast<int>(rng.below(20)));
  }
  const auto ranks = share_positions(jobs, {});
  const auto places_of = [](const auto& all, const auto& rank_of) {
    std::vector<std::tuple<std::int64_t, TimePoint, JobId>> places;
    for (const auto& one : all)
      places.emplace_back(rank_of(one).priority, rank_of(one).submit_time, rank_of(one).place);
    std::ranges::sort(places);
    return places;
  };
  EXPECT_EQ(places_of(ranks, [](const Rank& rank) { return rank; }),
            places_of(jobs, [](const SharedJob& one) { return one.own; }));
  Ids ids = order_of(ranks);
  std::ranges::sort(ids);
  Ids all(200);
  std::iota(all.begin(), all.end(), 1);
  EXPECT_EQ(ids, all);
}

}  // namespace
}  // namespace muster::sched

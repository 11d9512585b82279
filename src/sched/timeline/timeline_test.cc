#include "sched/timeline/timeline.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "sched/placement/node_order.h"
#include "sched/testing.h"

namespace muster::sched {
namespace {

using namespace testing;

NodeAmount cpu_amount(std::uint32_t node, std::uint32_t cpus) {
  return {NodeIndex(node), 1, cpus, 0, {}};
}
Window window(std::uint32_t job, std::int64_t start, std::int64_t end,
              std::vector<NodeAmount> nodes) {
  return {JobId(job), {}, PartitionIndex(0), at(start), at(end), std::move(nodes)};
}
std::int64_t free_until(const Timeline& timeline, std::uint32_t node, std::int64_t seconds) {
  return Timeline::Interval(timeline, at(seconds)).at(NodeIndex(node)).cpus;
}

/// When one task of so many CPUs can start on one node and stay for so long, in seconds from at(0).
std::optional<std::int64_t> earliest_start(Timeline& timeline, const ClusterInventory& inventory,
                                           std::uint32_t cpus, std::int64_t seconds) {
  const Demand demand =
      Demand::compile(std::make_shared<const ResourceRequest>(tasks(1, cpus)), inventory);
  const Fitter fitter(inventory, demand, {});
  const auto order = static_order(inventory);
  const auto found = timeline.earliest_start(
      {fitter, {1, 1}, order, inventory.all, Duration::seconds(seconds), NeedIndex(0), cpus});
  if (!found) return std::nullopt;
  return (found->start - at(0)).seconds();
}

/// One node of 8 CPUs: job 1 has 3 of them until 100, job 2 has 2 until 200.
struct BusyNode : ::testing::Test {
  BusyNode() : snapshot(make_snapshot(make_cluster(equal_nodes(1, 8)))) {
    snapshot.advance_time(at(0));
    snapshot.start_job({JobId(1), PartitionIndex(0), {cpu_amount(0, 3)}, at(100)});
    snapshot.start_job({JobId(2), PartitionIndex(0), {cpu_amount(0, 2)}, at(200)});
  }
  std::optional<std::int64_t> earliest(Timeline& timeline, std::uint32_t cpus,
                                       std::int64_t seconds) const {
    return earliest_start(timeline, snapshot.inventory(), cpus, seconds);
  }
  ClusterSnapshot snapshot;
};

TEST_F(BusyNode, TheEarliestStartIsTheEndThatMakesRoom) {
  Timeline timeline(snapshot, at(0), {});
  EXPECT_EQ(earliest(timeline, 6, 10), 100);
  EXPECT_EQ(earliest(timeline, 7, 10), 200);
  EXPECT_EQ(earliest(timeline, 8, 10), 200);
  EXPECT_EQ(earliest(timeline, 9, 10), std::nullopt);
}

TEST_F(BusyNode, AWindowTakesItsRoomForItsTime) {
  Timeline timeline(snapshot, at(0), {});
  timeline.reserve(window(9, 150, 160, {cpu_amount(0, 4)}));
  EXPECT_EQ(free_until(timeline, 0, 150), 3) << "what ends at its start does not meet it";
  EXPECT_EQ(free_until(timeline, 0, 151), 2) << "six are free then, and four are kept";
  EXPECT_EQ(earliest(timeline, 6, 50), 100) << "just before it";
  EXPECT_EQ(earliest(timeline, 6, 51), 160) << "behind it";
}

TEST_F(BusyNode, AWindowThatIsGivenUpIsNoMore) {
  Timeline timeline(snapshot, at(0), {});
  const Window first = window(8, 100, 300, {cpu_amount(0, 2)});
  const Window second = window(9, 150, 250, {cpu_amount(0, 4)});
  timeline.reserve(first);
  timeline.reserve(second);
  EXPECT_EQ(free_until(timeline, 0, 400), 0);
  timeline.release(first);
  EXPECT_EQ(free_until(timeline, 0, 400), 2);
  timeline.clear_windows();
  EXPECT_EQ(free_until(timeline, 0, 400), 3);
  EXPECT_EQ(earliest(timeline, 6, 1000), 100);
}

TEST_F(BusyNode, AStartTakesRoomFromNowUntilItsEnd) {
  Timeline timeline(snapshot, at(0), {});
  timeline.start({JobId(3), PartitionIndex(0), at(50), {cpu_amount(0, 3)}});
  EXPECT_EQ(timeline.free().at(NodeIndex(0)).cpus, 0);
  EXPECT_EQ(earliest(timeline, 3, 10), 50);
  EXPECT_EQ(earliest(timeline, 4, 10), 100);
}

TEST_F(BusyNode, AnOverdueJobEndsAGraceAfterNowOrCountsAsGone) {
  PlanOptions options;
  options.overdue_grace = Duration::seconds(7);
  Timeline waiting(snapshot, at(150), options);
  EXPECT_EQ(waiting.free().at(NodeIndex(0)).cpus, 3);
  EXPECT_EQ(earliest(waiting, 6, 10), 157);
  options.is_overdue_free = true;
  const Timeline gone(snapshot, at(150), options);
  EXPECT_EQ(gone.free().at(NodeIndex(0)).cpus, 6);
}

TEST_F(BusyNode, AKeptWindowMayFindLessThanItWasPlannedWith) {
  Timeline timeline(snapshot, at(0), {});
  timeline.reserve_again(window(9, -5, 20, {cpu_amount(0, 5)}));
  EXPECT_EQ(free_until(timeline, 0, 10), -2) << "it begins at once, and overdraws the node";
}

TEST_F(BusyNode, EffortIsSpentUntilNoneIsLeft) {
  Timeline timeline(snapshot, at(0), {});
  EXPECT_TRUE(timeline.is_effort_left());
  timeline.spend(3'999'999);
  EXPECT_TRUE(timeline.is_effort_left());
  timeline.spend(1);
  EXPECT_FALSE(timeline.is_effort_left());
  EXPECT_EQ(timeline.spent(), 4'000'000U);
}

using TimelineDeathTest = BusyNode;
TEST_F(TimelineDeathTest, RoomIsGivenOutOnce) {
  Timeline timeline(snapshot, at(0), {});
  EXPECT_DEATH(timeline.start({JobId(3), PartitionIndex(0), at(50), {cpu_amount(0, 4)}}),
               "node 0 is given out twice");
  timeline.reserve(window(9, 100, 300, {cpu_amount(0, 6)}));
  EXPECT_DEATH(timeline.reserve(window(8, 150, 160, {cpu_amount(0, 1)})),
               "node 0 is reserved twice");
  EXPECT_DEATH(timeline.start({JobId(3), PartitionIndex(0), at(101), {cpu_amount(0, 1)}}),
               "a start takes reserved room");
  EXPECT_DEATH(timeline.reserve(window(7, 0, 9, {cpu_amount(0, 1)})), "begins after now");
  EXPECT_DEATH(timeline.release(window(7, 1, 9, {cpu_amount(0, 1)})), "no such window is kept");
}

/// What is free over an interval, and where a job fits first, by looking at every second.
TEST(Timeline, AgreesWithLookingAtEverySecond) {
  constexpr std::int64_t kCpus = 8;
  constexpr std::int64_t kHorizon = 60;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    ClusterSnapshot snapshot = make_snapshot(make_cluster(equal_nodes(1, kCpus)));
    snapshot.advance_time(at(0));
    std::vector<std::int64_t> free(kHorizon * 3, kCpus);  // by second
    const auto occupy = [&](std::int64_t from, std::int64_t until, std::int64_t cpus) {
      for (std::int64_t t = from; t < until; ++t) free[static_cast<std::size_t>(t)] -= cpus;
    };
    for (std::uint32_t id = 1; id <= 4; ++id) {
      const auto cpus = static_cast<std::uint32_t>(1 + rng.below(2));
      const std::int64_t end = rng.between(1, kHorizon);
      snapshot.start_job({JobId(id), PartitionIndex(0), {cpu_amount(0, cpus)}, at(end)});
      occupy(0, end, cpus);
    }
    Timeline timeline(snapshot, at(0), {});
    const auto least = [&](std::int64_t from, std::int64_t until) {
      std::int64_t result = kCpus;
      for (std::int64_t t = from; t < until; ++t)
        result = std::min(result, free[static_cast<std::size_t>(t)]);
      return result;
    };
    for (std::uint32_t id = 10; id < 15; ++id) {
      const std::int64_t start = rng.between(1, kHorizon);
      const std::int64_t end = start + rng.between(1, 20);
      const std::int64_t room = least(start, end);
      if (room <= 0) continue;
      const std::int64_t cpus = rng.between(1, room);
      timeline.reserve(window(id, start, end, {cpu_amount(0, static_cast<std::uint32_t>(cpus))}));
      occupy(start, end, cpus);
    }
    for (std::int64_t until = 1; until < kHorizon * 2; ++until)
      ASSERT_EQ(free_until(timeline, 0, until), least(0, until)) << "until " << until;
    const auto cpus = static_cast<std::uint32_t>(rng.between(1, kCpus));
    const std::int64_t length = rng.between(1, 15);
    const auto found = earliest_start(timeline, snapshot.inventory(), cpus, length);
    ASSERT_TRUE(found.has_value());
    if (least(0, length) >= cpus) continue;  // it starts now, and nobody asks
    std::int64_t expected = 1;
    while (least(expected, expected + length) < cpus) ++expected;
    EXPECT_EQ(*found, expected);
  }
}

}  // namespace
}  // namespace muster::sched

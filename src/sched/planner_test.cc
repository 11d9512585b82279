#include "sched/planner.h"

#include <gtest/gtest.h>

#include "sched/fast_path.h"
#include "sched/reasons.h"
#include "sched/testing.h"

namespace muster::sched {
namespace {

using namespace testing;

/// A snapshot with jobs added at time zero and planned on.
struct World {
  ClusterSnapshot snapshot;
  TimePoint now = at(0);
  PlanOptions options;

  explicit World(ClusterConfig config) : snapshot(make_snapshot(std::move(config))) {
    snapshot.advance_time(now);
  }
  PendingJob& add(PendingJob job) {
    snapshot.add_pending(job);
    last = std::move(job);
    return last;
  }
  Plan make() { return sched::plan(snapshot, now, options); }
  Plan step() {
    Plan result = make();
    apply(snapshot, result);
    return result;
  }
  void move_to(std::int64_t seconds) {
    now = at(seconds);
    snapshot.advance_time(now);
  }
  PendingReason word(const Plan& plan, std::uint32_t job) {
    const PendingReason result = reasons_of(snapshot, plan, JobId(job)).word;
    EXPECT_EQ(reason_word(snapshot, plan, JobId(job)), result);
    return result;
  }
  PendingJob last;
};

TEST(Planner, StartsWhatFitsInRankOrder) {
  World world(make_cluster(equal_nodes(1, 4)));
  world.add(make_job(1, tasks(1, 3)));
  PendingJob urgent = make_job(2, tasks(1, 3));
  urgent.priority = 10;
  world.add(urgent);
  const Plan plan = world.make();
  ASSERT_EQ(plan.starts.size(), 1U);
  EXPECT_EQ(plan.starts[0].job, JobId(2));
  EXPECT_EQ(world.word(plan, 1), PendingReason::kResources);
  ASSERT_NE(plan.window_of(JobId(1)), nullptr);
  EXPECT_EQ(plan.window_of(JobId(1))->start, at(100));
}

TEST(Planner, BackfillsOnlyWhatDelaysNobody) {
  World world(make_cluster(equal_nodes(1, 4)));
  world.add(make_job(1, tasks(1, 3), 100));
  world.step();
  world.add(make_job(2, tasks(1, 4), 100));
  world.add(make_job(3, tasks(1, 1), 101));
  world.add(make_job(4, tasks(1, 1), 100));
  const Plan plan = world.make();
  EXPECT_EQ(placed(plan, 3), "-");
  EXPECT_EQ(placed(plan, 4), "n0:1/1");
  EXPECT_EQ(world.word(plan, 2), PendingReason::kResources);
  EXPECT_EQ(world.word(plan, 3), PendingReason::kPriority);
}

/// As many windows as the depth allows on each node, also to jobs of one lane.
TEST(Planner, JobsWhoseNodesAreAllClaimedHaveNoWindow) {
  ClusterSnapshot snapshot = make_snapshot(make_cluster(equal_nodes(1, 4)));
  snapshot.add_pending(make_job(1, tasks(4), 100));
  apply(snapshot, Planner().plan(snapshot, at(0), {}));
  for (std::uint32_t id = 2; id <= 5; ++id) snapshot.add_pending(make_job(id, tasks(4), 100));
  EXPECT_EQ(Planner().plan(snapshot, at(0), {}).windows.size(), 1U);
  PlanOptions options;
  options.reservation_depth = 2;
  EXPECT_EQ(Planner().plan(snapshot, at(0), options).windows.size(), 2U);
}

TEST(Planner, LeftOverRoomAtTheShadowIsFree) {
  World world(make_cluster(equal_nodes(1, 4)));
  world.add(make_job(1, tasks(1, 3), 100));
  world.step();
  world.add(make_job(2, tasks(1, 3), 100));
  world.add(make_job(3, tasks(1, 1), 5000));
  EXPECT_EQ(placed(world.make(), 3), "n0:1/1");
}

TEST(Planner, WithoutBackfillNothingPassesTheHead) {
  World world(make_cluster(equal_nodes(1, 4)));
  world.options.is_backfill = false;
  world.add(make_job(1, tasks(1, 3)));
  world.step();
  world.add(make_job(2, tasks(1, 2)));
  world.add(make_job(3, tasks(1, 1), 1));
  EXPECT_TRUE(world.make().starts.empty());
}

TEST(Planner, JobsWithoutCommonNodesAreNotHeldBack) {
  ClusterConfig config = make_cluster(equal_nodes(2, 4));
  config.partitions = {make_partition("a", {0}), make_partition("b", {1})};
  World world(std::move(config));
  world.add(make_job(1, tasks(1, 3)));
  world.step();
  world.add(make_job(2, tasks(1, 4)));
  PendingJob other = make_job(3, tasks(1, 4), 100'000);
  other.partitions = {PartitionIndex(1)};
  world.add(other);
  EXPECT_EQ(placed(world.make(), 3), "n1:1/4");
}

TEST(Planner, SeveralPartitionsTakeTheOneThatStartsFirst) {
  ClusterConfig config = make_cluster(equal_nodes(2, 4));
  config.partitions = {make_partition("a", {0}), make_partition("b", {1})};
  World world(std::move(config));
  world.add(make_job(1, tasks(1, 4)));
  world.step();
  PendingJob both = make_job(2, tasks(1, 4));
  both.partitions = {PartitionIndex(0), PartitionIndex(1)};
  world.add(both);
  const Plan plan = world.make();
  ASSERT_EQ(plan.starts.size(), 1U);
  EXPECT_EQ(plan.starts[0].partition, PartitionIndex(1));
}

TEST(Planner, AWindowIsGivenUpWhenItsJobStartsInALowerTier) {
  ClusterConfig config = make_cluster(equal_nodes(2, 4));
  config.partitions = {make_partition("high", {0}), make_partition("low", {1})};
  config.partitions[0].priority_tier = 10;
  World world(std::move(config));
  world.add(make_job(1, tasks(1, 3), 100));
  world.step();
  PendingJob both = make_job(2, tasks(1, 4), 100);
  both.partitions = {PartitionIndex(0), PartitionIndex(1)};
  world.add(both);
  world.add(make_job(3, tasks(1, 1), 10'000));
  const Plan plan = world.make();
  EXPECT_EQ(placed(plan, 2), "n1:1/4");
  EXPECT_EQ(placed(plan, 3), "n0:1/1");
  EXPECT_TRUE(plan.windows.empty());
}

/// Job 1 runs in the high tier until 1000, job 2 in the low one until 100; job 3 waits for either
/// of their nodes.
World world_of_two_tiers() {
  ClusterConfig config = make_cluster(equal_nodes(2, 4));
  config.partitions = {make_partition("high", {0}), make_partition("low", {1})};
  config.partitions[0].priority_tier = 10;
  World world(std::move(config));
  world.add(make_job(1, tasks(1, 4), 1000));
  PendingJob low = make_job(2, tasks(1, 3), 100);
  low.partitions = {PartitionIndex(1)};
  world.add(low);
  world.step();
  PendingJob both = make_job(3, tasks(1, 4), 100);
  both.partitions = {PartitionIndex(0), PartitionIndex(1)};
  world.add(both);
  return world;
}

TEST(Planner, AJobOfSeveralTiersHasAWindowWhereItStartsFirst) {
  World world = world_of_two_tiers();
  PendingJob lower = make_job(4, tasks(1, 1), 500);
  lower.partitions = {PartitionIndex(1)};
  world.add(lower);
  const Plan plan = world.make();
  ASSERT_EQ(plan.windows.size(), 2U) << "what was ranked between the two made way for the first";
  EXPECT_EQ(plan.windows[0].start, at(1000));
  const Window* first = plan.window_of(JobId(3));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->start, at(100));
  EXPECT_EQ(first->partition, PartitionIndex(1));
  EXPECT_TRUE(plan.starts.empty()) << "a job of lower rank would have put it off";
}

/// Job 2 may have the whole node from 1000 on, in the higher tier, or a part of it now.
World world_of_a_job_with_two_chances() {
  ClusterConfig config = make_cluster(equal_nodes(1, 4));
  config.partitions = {make_partition("high", {0}), make_partition("low", {0})};
  config.partitions[0].priority_tier = 10;
  config.partitions[0].is_exclusive = true;
  World world(std::move(config));
  PendingJob low = make_job(1, tasks(1, 1), 1000);
  low.partitions = {PartitionIndex(1)};
  world.add(low);
  world.step();
  PendingJob both = make_job(2, tasks(1, 2), 2000);
  both.partitions = {PartitionIndex(0), PartitionIndex(1)};
  world.add(both);
  return world;
}

TEST(Planner, AJobsOwnWindowIsNotInItsWay) {
  World world = world_of_a_job_with_two_chances();
  const Plan plan = world.make();
  EXPECT_EQ(placed(plan, 2), "n0:1/2");
  EXPECT_TRUE(plan.windows.empty());
}

/// One of the same need has failed before, on the room that the other job's own window keeps.
TEST(Planner, AJobStartsBesideItsOwnWindowWhereOneOfItsNeedDidNot) {
  World world = world_of_a_job_with_two_chances();
  PendingJob first = make_job(3, tasks(1, 2), 2000);
  first.partitions = {PartitionIndex(1)};
  first.priority = 5;
  world.add(first);
  const Plan plan = world.make();
  EXPECT_EQ(placed(plan, 3), "-") << "the window in the higher tier goes before it";
  EXPECT_EQ(placed(plan, 2), "n0:1/2");
}

TEST(Planner, ArrayElementsStartUpToTheThrottle) {
  World world(make_cluster(equal_nodes(4, 1)));
  PendingJob array = make_job(1, tasks(1));
  array.element_count = 10;
  array.throttle = 2;
  world.add(array);
  EXPECT_EQ(world.step().starts.size(), 2U);
  const Plan plan = world.make();
  EXPECT_TRUE(plan.starts.empty());
  EXPECT_EQ(world.word(plan, 1), PendingReason::kJobArrayTaskLimit);
}

TEST(Planner, BeginTimeHoldsAndStatesHaveTheirWords) {
  ClusterConfig config = make_cluster(equal_nodes(1, 4));
  config.partitions.push_back(make_partition("down", {0}));
  config.partitions[1].state = PartitionState::kDown;
  config.partitions.push_back(make_partition("short", {0}));
  config.partitions[2].max_time = Duration::seconds(10);
  World world(std::move(config));
  PendingJob later = make_job(1, tasks(1));
  later.eligible_time = at(50);
  world.add(later);
  PendingJob held = make_job(2, tasks(1));
  held.hold = PendingReason::kJobHeldUser;
  world.add(held);
  PendingJob down = make_job(3, tasks(1));
  down.partitions = {PartitionIndex(1)};
  world.add(down);
  PendingJob too_long = make_job(4, tasks(1));
  too_long.partitions = {PartitionIndex(2)};
  world.add(too_long);
  world.add(make_job(5, on_nodes(2, 2)));
  Plan plan = world.make();
  EXPECT_TRUE(plan.starts.empty());
  EXPECT_EQ(world.word(plan, 1), PendingReason::kBeginTime);
  EXPECT_EQ(world.word(plan, 2), PendingReason::kJobHeldUser);
  EXPECT_EQ(world.word(plan, 3), PendingReason::kPartitionDown);
  EXPECT_EQ(world.word(plan, 4), PendingReason::kPartitionTimeLimit);
  EXPECT_EQ(world.word(plan, 5), PendingReason::kBadConstraints);
  world.move_to(50);
  EXPECT_EQ(world.make().starts.size(), 1U);
}

TEST(Planner, NodesOutOfServiceAreNamed) {
  World world(make_cluster(equal_nodes(2, 4)));
  world.snapshot.set_node_conditions(NodeIndex(1), node_condition::kDrain);
  ResourceRequest named = tasks(1);
  named.required_nodes = {"n1"};
  world.add(make_job(1, named));
  world.add(make_job(2, on_nodes(2, 2)));
  const Plan plan = world.make();
  EXPECT_EQ(world.word(plan, 1), PendingReason::kReqNodeNotAvail);
  EXPECT_EQ(world.word(plan, 2), PendingReason::kNodesUnavailable);
  EXPECT_EQ(reasons_of(world.snapshot, plan, JobId(2)).details[0].nodes, std::vector{NodeIndex(1)});
}

TEST(Planner, OverdueJobsAreNotFree) {
  World world(make_cluster(equal_nodes(1, 4)));
  world.add(make_job(1, tasks(1, 4), 10));
  world.step();
  world.move_to(20);
  world.add(make_job(2, tasks(1, 4)));
  const Plan plan = world.make();
  EXPECT_TRUE(plan.starts.empty());
  EXPECT_EQ(plan.window_of(JobId(2))->start, at(21));
}

/// A job without a time limit has all of the nodes: nobody behind it can have a window, however
/// many wait, and one of each lane is asked about.
TEST(Planner, WhereNoTimeIsForOneNoneBehindItIsAskedAbout) {
  ClusterSnapshot snapshot = make_snapshot(make_cluster(equal_nodes(1, 4)));
  snapshot.advance_time(at(0));
  snapshot.start_job(
      {JobId(1), PartitionIndex(0), {{NodeIndex(0), 1, 4, 0, {}}}, TimePoint::never()});
  for (std::uint32_t id = 10; id < 20; ++id) snapshot.add_pending(make_job(id, tasks(1, 2)));
  JobId asked_about;
  PlanOptions options;
  options.placing = &asked_about;
  const Plan plan = sched::plan(snapshot, at(0), options);
  EXPECT_TRUE(plan.starts.empty() && plan.windows.empty());
  EXPECT_EQ(asked_about, JobId(10)) << "the first of the lane, and no other";
}

TEST(FastPath, StartsBesideWindowsAndBehindBetterRanks) {
  World world(make_cluster(equal_nodes(1, 4)));
  world.add(make_job(1, tasks(1, 3), 100));
  world.step();
  world.add(make_job(2, tasks(1, 4), 100));
  const Plan plan = world.make();
  world.add(make_job(3, tasks(1, 1), 101));
  world.add(make_job(4, tasks(1, 1), 100));
  const auto go = [&](std::uint32_t id) {
    return try_start_now(world.snapshot, plan, JobId(id), world.now);
  };
  EXPECT_EQ(std::get<Hesitation>(go(3)), Hesitation::kNoRoom);
  // Job 3 is newer than the plan and could use the node: the plan has to weigh it first.
  EXPECT_EQ(std::get<Hesitation>(go(4)), Hesitation::kOutranked);
  world.snapshot.remove_pending(JobId(3));
  EXPECT_EQ(text(std::get<Start>(go(4)).nodes), "n0:1/1");
}

TEST(FastPath, FreedRoomIsForTheBestThatCanUseIt) {
  World world(make_cluster(equal_nodes(1, 4)));
  world.add(make_job(1, tasks(1, 2), 100));
  world.add(make_job(2, tasks(1, 2), 100));
  world.step();
  world.add(make_job(3, tasks(1, 2), 100));
  world.add(make_job(4, tasks(1, 1), 100));
  const Plan plan = world.make();
  EXPECT_TRUE(plan.starts.empty());
  world.snapshot.end_job(JobId(1));
  const auto go = [&](std::uint32_t id) {
    return try_start_now(world.snapshot, plan, JobId(id), world.now);
  };
  EXPECT_EQ(std::get<Hesitation>(go(4)), Hesitation::kOutranked);
  EXPECT_EQ(text(std::get<Start>(go(3)).nodes), "n0:1/2");
}

/// Room that is there now counts for the search although a window takes it away before the first
/// job ends: node 0 is free until the pair's window comes within the wide job's reach, and when
/// node 1's job is to end earlier it is needed.
TEST(Planner, WhatASearchRemembersIncludesTheRoomOfNow) {
  ClusterConfig config = make_cluster(equal_nodes(17, 4));
  config.partitions.push_back(make_partition("pair", {0, 16}));
  ClusterSnapshot snapshot = make_snapshot(config);
  snapshot.advance_time(at(0));
  snapshot.start_job({JobId(1), PartitionIndex(0), {{NodeIndex(0), 1, 1, 0, {}}}, at(88)});
  snapshot.start_job({JobId(2), PartitionIndex(0), {{NodeIndex(1), 1, 4, 0, {}}}, at(300)});
  snapshot.start_job({JobId(3), PartitionIndex(0), {{NodeIndex(16), 1, 4, 0, {}}}, at(195)});
  PendingJob pair = make_job(10, on_nodes(2, 2, 4), 100);
  pair.partitions = {PartitionIndex(1)};
  pair.priority = 2;
  snapshot.add_pending(pair);
  ResourceRequest request = on_nodes(16, 16, 3);
  request.excluded_nodes = {"n16"};
  PendingJob wide = make_job(11, request, 140);
  wide.priority = 1;
  snapshot.add_pending(wide);
  Planner planner;
  EXPECT_EQ(planner.plan(snapshot, at(0), {}), plan(snapshot, at(0)));
  snapshot.change_end(JobId(2), at(55));
  EXPECT_EQ(planner.plan(snapshot, at(0), {}), plan(snapshot, at(0)));
}

/// Windows on half of a cluster whose nodes have many jobs: each changes hundreds of profiles of
/// hundreds of steps.
TEST(Planner, WhereSearchesTakeTooLongWindowsAreThoseOfEasy) {
  constexpr std::uint32_t kNodes = 300;
  constexpr std::uint32_t kWide = 700;
  constexpr std::uint32_t kJobs = 32;  // on each node
  ClusterConfig config = make_cluster(equal_nodes(kNodes + 1, kJobs + 1));
  config.partitions.push_back(make_partition("apart", {}));
  config.partitions[0].nodes.pop_back();
  config.partitions[1].nodes = {NodeIndex(kNodes)};
  World world(std::move(config));
  world.options = PlanOptions::conservative();
  for (std::uint32_t i = 0; i < kJobs * (kNodes + 1); ++i) {
    const NodeIndex node(i / kJobs);
    world.snapshot.start_job({JobId(100'000 + i),
                              PartitionIndex(node.value() / kNodes),
                              {{node, 1, 1, 0, {}}},
                              at(1 + i)});
  }
  for (std::uint32_t id = 1; id <= kWide; ++id)
    world.add(make_job(id, on_nodes(kNodes / 2, kNodes / 2, kJobs), 600 + id));
  PendingJob last = make_job(kWide + 1, tasks(1, kJobs + 1));
  last.partitions = {PartitionIndex(1)};
  world.add(last);
  const Plan plan = world.make();
  EXPECT_GE(plan.windows.size(), 20U);
  EXPECT_LT(plan.windows.size(), kWide);
  EXPECT_NE(plan.window_of(JobId(1)), nullptr);
  EXPECT_EQ(plan.window_of(JobId(kWide)), nullptr);
  EXPECT_NE(plan.window_of(JobId(kWide + 1)), nullptr) << "nobody waits for its node";
}

/// One node whose job was to end at 100, and one that waits for all of it.
struct OneWaits : World {
  OneWaits() : World(make_cluster(equal_nodes(2, 4))) {
    snapshot.start_job({JobId(1), PartitionIndex(0), {{NodeIndex(0), 1, 4, 0, {}}}, at(100)});
    snapshot.start_job({JobId(2), PartitionIndex(0), {{NodeIndex(1), 1, 4, 0, {}}}, at(200)});
    add(make_job(3, tasks(1, 4)));
    first = make();
  }
  TimePoint start_with(std::span<const Window> kept) {
    const Plan plan = planner.plan(snapshot, now, options, kept);
    const Window* window = plan.window_of(JobId(3));
    return window == nullptr ? TimePoint() : window->start;
  }
  Planner planner;
  Plan first;
};

TEST(KeptWindows, StandThoughTheJobCouldStartEarlier) {
  OneWaits world;
  world.snapshot.change_end(JobId(2), at(50));
  EXPECT_EQ(world.start_with(world.first.windows), at(100));
  EXPECT_EQ(world.start_with({}), at(50));
}

TEST(KeptWindows, AreInNobodysWayWhoCanStartNow) {
  OneWaits world;
  world.snapshot.end_job(JobId(2));
  const Plan plan =
      world.planner.plan(world.snapshot, world.now, world.options, world.first.windows);
  ASSERT_EQ(plan.starts.size(), 1U);
  EXPECT_EQ(plan.starts[0].nodes[0].node, NodeIndex(1));
  EXPECT_TRUE(plan.windows.empty());
}

TEST(KeptWindows, AreSoughtAnewWhereTheyCannotBeHad) {
  OneWaits late;
  late.snapshot.change_end(JobId(1), at(120));
  EXPECT_EQ(late.start_with(late.first.windows), at(120)) << "the job there ends later";
  OneWaits away;
  away.snapshot.set_node_conditions(NodeIndex(0), node_condition::kDrain);
  EXPECT_EQ(away.start_with(away.first.windows), at(200)) << "the node is out of service";
  OneWaits over;
  over.move_to(101);
  EXPECT_EQ(over.start_with(over.first.windows), at(102))
      << "it has not begun, and the job is overdue";
}

TEST(KeptWindows, GiveWayToWhoIsRankedBetter) {
  OneWaits world;
  PendingJob urgent = make_job(4, tasks(1, 4));
  urgent.priority = 10;
  world.add(urgent);
  world.options = PlanOptions::conservative();
  const Plan plan =
      world.planner.plan(world.snapshot, world.now, world.options, world.first.windows);
  EXPECT_EQ(plan.window_of(JobId(4))->start, at(100));
  EXPECT_EQ(plan.window_of(JobId(3))->start, at(200));
}

/// What a window's amounts are of has other numbers then.
TEST(KeptWindows, DoNotOutliveTheConfiguration) {
  OneWaits world;
  world.snapshot.change_end(JobId(2), at(50));
  world.snapshot.set_cluster(make_cluster(equal_nodes(2, 4)));
  EXPECT_EQ(world.start_with(world.first.windows), at(50));
}

TEST(KeptWindows, AreThoseOfTheSameRequest) {
  OneWaits world;
  PendingJob longer = make_job(3, tasks(1, 4));
  longer.time_limit = Duration::seconds(7);
  world.snapshot.update_pending(longer);
  const Plan plan =
      world.planner.plan(world.snapshot, world.now, world.options, world.first.windows);
  EXPECT_EQ(plan.window_of(JobId(3))->end, at(107));
}

}  // namespace
}  // namespace muster::sched

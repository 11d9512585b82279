#include "sched/snapshot/snapshot.h"

#include <gtest/gtest.h>

#include <map>

#include "base/rng.h"
#include "sched/testing.h"

namespace muster::sched {
namespace {

using namespace testing;

NodeAmount amount(std::uint32_t node, std::uint32_t cpus, std::uint64_t memory_mib = 0) {
  return {NodeIndex(node), 1, cpus, memory_mib, {}};
}
bool is_ready(const ClusterSnapshot& snapshot, std::uint32_t job) {
  const PendingJob* pending = snapshot.find_pending(JobId(job));
  return snapshot.lane(snapshot.lane_of(JobId(job))).ready.contains(pending->rank());
}
ClusterSnapshot two_nodes() {
  ClusterSnapshot snapshot = make_snapshot(make_cluster(equal_nodes(2, 4)));
  snapshot.advance_time(at(0));
  return snapshot;
}

// ---- what waits ----

TEST(Snapshot, EqualNeedsAndTimeLimitsAreOneLane) {
  ClusterSnapshot snapshot = two_nodes();
  snapshot.add_pending(make_job(1, tasks(2)));
  snapshot.add_pending(make_job(2, tasks(2)));
  snapshot.add_pending(make_job(3, tasks(3)));
  snapshot.add_pending(make_job(4, tasks(2), 99));
  const LaneIndex first = snapshot.lane_of(JobId(1));
  EXPECT_EQ(snapshot.lane_of(JobId(2)), first);
  EXPECT_NE(snapshot.lane_of(JobId(3)), first);
  EXPECT_NE(snapshot.lane_of(JobId(4)), first) << "another time limit";
  EXPECT_EQ(snapshot.lane(snapshot.lane_of(JobId(4))).needs, snapshot.lane(first).needs)
      << "and the same need";
  EXPECT_EQ(snapshot.lane(first).job_count, 2U);
  EXPECT_EQ(snapshot.lane(first).ready.begin()->job, JobId(1));
  EXPECT_EQ(snapshot.pending_count(), 4U);
}

TEST(Snapshot, PlacesAreUsedAgainUnderNewSerials) {
  ClusterSnapshot snapshot = two_nodes();
  snapshot.add_pending(make_job(1, tasks(2)));
  const LaneIndex lane = snapshot.lane_of(JobId(1));
  const NeedIndex need = snapshot.lane(lane).needs.front();
  const std::uint64_t lane_serial = snapshot.lane(lane).serial;
  const std::uint64_t need_serial = snapshot.need(need).serial;
  snapshot.add_pending(make_job(2, tasks(2), 99));
  EXPECT_EQ(snapshot.need(need).lane_count, 2U);
  snapshot.remove_pending(JobId(1));
  EXPECT_EQ(snapshot.lane(lane).serial, 0U) << "vacant";
  EXPECT_EQ(snapshot.need(need).serial, need_serial) << "another lane has it";
  snapshot.remove_pending(JobId(2));
  EXPECT_EQ(snapshot.need(need).serial, 0U) << "vacant";
  snapshot.add_pending(make_job(3, tasks(2), 99));
  EXPECT_EQ(snapshot.lane(snapshot.lane_of(JobId(3))).needs.front(), need);
  EXPECT_GT(snapshot.need(need).serial, need_serial);
  EXPECT_GT(snapshot.lane(snapshot.lane_of(JobId(3))).serial, lane_serial);
}

TEST(Snapshot, ALaneHasANeedInEachOfItsPartitions) {
  ClusterConfig config = make_cluster({make_node("n0", 2), make_node("n1", 8)});
  config.partitions.push_back(make_partition("small", {0}));
  ClusterSnapshot snapshot = make_snapshot(config);
  PendingJob job = make_job(1, tasks(1, 4));
  job.partitions = {PartitionIndex(0), PartitionIndex(1)};
  snapshot.add_pending(job);
  const auto nodes_in = [&](std::uint32_t id, std::uint32_t partition) {
    return snapshot.need_in(snapshot.lane(snapshot.lane_of(JobId(id))), PartitionIndex(partition))
        .nodes()
        .first(9);
  };
  EXPECT_EQ(nodes_in(1, 0), std::vector{NodeIndex(1)});
  EXPECT_EQ(nodes_in(1, 1), std::vector<NodeIndex>());
  job.id = JobId(2);
  job.later_requests = {std::make_shared<const ResourceRequest>(tasks(1, 2))};
  snapshot.add_pending(job);
  EXPECT_EQ(nodes_in(2, 0), std::vector{NodeIndex(1)});
  EXPECT_EQ(nodes_in(2, 1), std::vector{NodeIndex(0)});
  const Lane& lane = snapshot.lane(snapshot.lane_of(JobId(2)));
  EXPECT_EQ(lane.needs.front(), snapshot.lane(snapshot.lane_of(JobId(1))).needs.front());
  EXPECT_EQ(snapshot.need_in(lane, PartitionIndex(1)).request().cpus_per_task, 2U);
  EXPECT_DEATH((void)snapshot.need_in(lane, PartitionIndex(2)), "none of the lane's");
}

TEST(Snapshot, AJobIsReadyWhenNothingButRoomIsMissing) {
  ClusterSnapshot snapshot = two_nodes();
  PendingJob job = make_job(1, tasks(1));
  job.eligible_time = at(10);
  job.hold = PendingReason::kJobHeldUser;
  snapshot.add_pending(job);
  EXPECT_FALSE(is_ready(snapshot, 1));
  snapshot.advance_time(at(10));
  EXPECT_FALSE(is_ready(snapshot, 1)) << "it is held";
  snapshot.set_hold(JobId(1), PendingReason::kNone);
  EXPECT_TRUE(is_ready(snapshot, 1));
  snapshot.set_hold(JobId(1), PendingReason::kDependency);
  EXPECT_FALSE(is_ready(snapshot, 1));
  job.hold = PendingReason::kNone;
  job.eligible_time = at(20);
  snapshot.update_pending(job);
  EXPECT_FALSE(is_ready(snapshot, 1));
  snapshot.advance_time(at(5));
  snapshot.advance_time(at(19));
  EXPECT_FALSE(is_ready(snapshot, 1));
  snapshot.advance_time(at(20));
  EXPECT_TRUE(is_ready(snapshot, 1));
}

TEST(Snapshot, ElementsStartUpToTheThrottle) {
  PendingJob job = make_job(1, tasks(1));
  job.element_count = 5;
  EXPECT_EQ(job.startable_count(), 5U);
  job.throttle = 3;
  EXPECT_EQ(job.startable_count(), 3U);
  job.running_count = 2;
  EXPECT_EQ(job.startable_count(), 1U);
  job.running_count = 7;
  EXPECT_EQ(job.startable_count(), 0U);
  ClusterSnapshot snapshot = two_nodes();
  snapshot.add_pending(job);
  EXPECT_FALSE(is_ready(snapshot, 1));
  snapshot.set_elements(JobId(1), 4, 2);
  EXPECT_TRUE(is_ready(snapshot, 1));
  snapshot.set_elements(JobId(1), 0, 2);
  EXPECT_FALSE(is_ready(snapshot, 1)) << "none is left";
}

TEST(Snapshot, ThePlaceInTheQueueMayBeAnothers) {
  PendingJob job = make_job(7, tasks(1));
  EXPECT_EQ(job.rank().place, JobId(7));
  job.place = JobId(3);
  EXPECT_EQ(job.rank().place, JobId(3));
  EXPECT_EQ(job.rank().job, JobId(7));
}

TEST(Snapshot, ANewPriorityIsANewRankAndIsLogged) {
  ClusterSnapshot snapshot = two_nodes();
  snapshot.add_pending(make_job(1, tasks(1)));
  snapshot.add_pending(make_job(2, tasks(1)));
  const std::uint64_t before = snapshot.revision();
  snapshot.set_priority(JobId(2), 5);
  EXPECT_EQ(snapshot.lane(snapshot.lane_of(JobId(1))).ready.begin()->job, JobId(2));
  ASSERT_EQ(snapshot.ready_since(before)->size(), 1U);
  EXPECT_EQ(snapshot.ready_since(before)->front().second, JobId(2));
  EXPECT_EQ(snapshot.ready_revision(JobId(2)), snapshot.revision());
  EXPECT_EQ(snapshot.ready_revision(JobId(9)), 0U);
}

TEST(Snapshot, OneElementFewerIsNothingNew) {
  ClusterSnapshot snapshot = two_nodes();
  PendingJob job = make_job(1, tasks(1));
  job.element_count = 5;
  snapshot.add_pending(job);
  const std::uint64_t before = snapshot.revision();
  const std::uint64_t ready = snapshot.ready_revision(JobId(1));
  snapshot.set_elements(JobId(1), 4, 1);
  EXPECT_TRUE(snapshot.ready_since(before)->empty());
  EXPECT_EQ(snapshot.ready_revision(JobId(1)), ready);
}

// ---- what runs ----

TEST(Snapshot, AJobHoldsItsNodesUntilTheLastIsReleased) {
  ClusterSnapshot snapshot = two_nodes();
  snapshot.start_job({JobId(1), PartitionIndex(0), {amount(0, 3), amount(1, 2)}, at(50)});
  EXPECT_EQ(snapshot.free().at(NodeIndex(0)).cpus, 1);
  EXPECT_EQ(snapshot.shares_on(NodeIndex(1)).size(), 1U);
  snapshot.release_node(JobId(1), NodeIndex(0));
  EXPECT_EQ(snapshot.free().at(NodeIndex(0)).cpus, 4);
  EXPECT_EQ(snapshot.free().at(NodeIndex(1)).cpus, 2);
  EXPECT_NE(snapshot.find_running(JobId(1)), nullptr);
  snapshot.release_node(JobId(1), NodeIndex(1));
  EXPECT_EQ(snapshot.find_running(JobId(1)), nullptr);
  EXPECT_EQ(snapshot.running_count(), 0U);
  EXPECT_TRUE(snapshot.ends().empty());
  EXPECT_TRUE(snapshot.shares_on(NodeIndex(1)).empty());
}

TEST(Snapshot, EndsRiseByTimeAndJobAndMove) {
  ClusterSnapshot snapshot = two_nodes();
  snapshot.start_job({JobId(5), PartitionIndex(0), {amount(0, 1)}, at(50)});
  snapshot.start_job({JobId(4), PartitionIndex(0), {amount(0, 1), amount(1, 1)}, at(50)});
  snapshot.start_job({JobId(6), PartitionIndex(0), {amount(0, 1)}, TimePoint::never()});
  const auto jobs = [&] {
    std::vector<std::uint32_t> result;
    for (const ExpectedEnd& end : snapshot.ends()) result.push_back(end.job.value());
    return result;
  };
  EXPECT_EQ(jobs(), (std::vector<std::uint32_t>{4, 5, 6}));
  EXPECT_FALSE(snapshot.ends()[0].is_on_one_node());
  EXPECT_EQ(snapshot.ends()[1].sole_node, NodeIndex(0));
  snapshot.change_end(JobId(4), at(60));
  snapshot.change_end(JobId(6), at(10));
  EXPECT_EQ(jobs(), (std::vector<std::uint32_t>{6, 5, 4}));
  snapshot.end_job(JobId(5));
  EXPECT_EQ(jobs(), (std::vector<std::uint32_t>{6, 4}));
}

TEST(Snapshot, AQuotaIsTakenAndGivenBackWithTheCpus) {
  ClusterConfig config = make_cluster(equal_nodes(1, 8));
  config.partitions[0].max_cpus_per_node = 5;
  ClusterSnapshot snapshot = make_snapshot(config);
  snapshot.start_job({JobId(1), PartitionIndex(0), {amount(0, 3)}, at(9)});
  EXPECT_EQ(snapshot.free().at(NodeIndex(0)).gres[0], 2);
  config.partitions[0].max_cpus_per_node = 7;
  snapshot.set_cluster(config);
  EXPECT_EQ(snapshot.free().at(NodeIndex(0)).gres[0], 4);
  snapshot.end_job(JobId(1));
  EXPECT_EQ(snapshot.free().at(NodeIndex(0)).gres[0], 7);
}

// ---- nodes ----

TEST(Snapshot, ANodeInAnyConditionOfNoNewWorkIsNotUsable) {
  ClusterSnapshot snapshot = two_nodes();
  for (int bit = 0; bit < 16; ++bit) {
    const auto bits = static_cast<std::uint16_t>(1U << bit);
    snapshot.set_node_conditions(NodeIndex(1), bits);
    EXPECT_EQ(snapshot.usable().test(NodeIndex(1)), (bits & node_condition::kNoNewWork) == 0)
        << bit;
    EXPECT_EQ(snapshot.node_conditions(NodeIndex(1)), bits);
  }
  EXPECT_TRUE(snapshot.usable().test(NodeIndex(0)));
}

TEST(Snapshot, ANewConfigurationKeepsWhatRunsWaitsAndIsDown) {
  ClusterSnapshot snapshot = two_nodes();
  snapshot.start_job({JobId(1), PartitionIndex(0), {amount(1, 3)}, at(50)});
  snapshot.add_pending(make_job(2, tasks(1, 6)));
  snapshot.set_node_conditions(NodeIndex(0), node_condition::kDrain);
  const LaneIndex lane = snapshot.lane_of(JobId(2));
  const NeedIndex need = snapshot.lane(lane).needs.front();
  EXPECT_TRUE(snapshot.need(need).nodes().empty());
  const std::uint64_t lane_serial = snapshot.lane(lane).serial;
  const std::uint64_t need_serial = snapshot.need(need).serial;
  snapshot.set_cluster(make_cluster(equal_nodes(3, 8)));
  EXPECT_EQ(snapshot.free().at(NodeIndex(1)).cpus, 5);
  EXPECT_EQ(snapshot.free().at(NodeIndex(2)).cpus, 8);
  EXPECT_FALSE(snapshot.usable().test(NodeIndex(0)));
  EXPECT_TRUE(snapshot.usable().test(NodeIndex(2)));
  EXPECT_EQ(snapshot.need(need).nodes().count(), 3U);
  EXPECT_EQ(snapshot.need(need).lane_count, 1U);
  EXPECT_GT(snapshot.need(need).serial, need_serial);
  EXPECT_GT(snapshot.lane(lane).serial, lane_serial);
  EXPECT_EQ(snapshot.config_revision(), snapshot.revision());
  snapshot.set_cluster(make_cluster(equal_nodes(3, 2)));
  EXPECT_EQ(snapshot.free().at(NodeIndex(1)).cpus, -1) << "smaller than what runs there";
}

TEST(Snapshot, ChangesAreRememberedAsFarAsTheLogGoes) {
  ClusterSnapshot snapshot = two_nodes();
  const std::uint64_t before = snapshot.revision();
  snapshot.start_job({JobId(1), PartitionIndex(0), {amount(0, 1)}, at(50)});
  EXPECT_EQ(snapshot.changed_since(before)->size(), 1U);
  EXPECT_LE(snapshot.freed_revision(NodeIndex(0)), before) << "it has lost room";
  snapshot.end_job(JobId(1));
  EXPECT_EQ(snapshot.freed_revision(NodeIndex(0)), snapshot.revision());
  EXPECT_TRUE(snapshot.changed_since(snapshot.revision())->empty());
  for (int i = 0; i < 70'000; ++i) snapshot.set_node_conditions(NodeIndex(1), 0);
  EXPECT_EQ(snapshot.changed_since(before), std::nullopt);
  ASSERT_TRUE(snapshot.changed_since(snapshot.revision() - 100).has_value());
  EXPECT_EQ(snapshot.changed_since(snapshot.revision() - 100)->size(), 100U);
}

TEST(SnapshotDeathTest, WhatIsNotThereIsABugOfTheCaller) {
  ClusterSnapshot snapshot = two_nodes();
  snapshot.add_pending(make_job(1, tasks(1)));
  snapshot.start_job({JobId(2), PartitionIndex(0), {amount(0, 1)}, at(9)});
  EXPECT_DEATH(snapshot.remove_pending(JobId(3)), "job 3 is not pending");
  EXPECT_DEATH(snapshot.add_pending(make_job(1, tasks(1))), "job 1 is pending already");
  EXPECT_DEATH(snapshot.end_job(JobId(1)), "job 1 is not running");
  EXPECT_DEATH(snapshot.release_node(JobId(2), NodeIndex(1)), "job 2 does not hold node 1");
  EXPECT_DEATH(snapshot.set_node_conditions(NodeIndex(2), 0), "node 2");
  EXPECT_DEATH(snapshot.start_job({JobId(2), PartitionIndex(0), {amount(0, 1)}, at(9)}),
               "job 2 is running already");
}

/// Whatever happens, what is free is what there is less what runs.
TEST(Snapshot, WhatIsFreeIsWhatNobodyHolds) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    ClusterSnapshot snapshot = make_snapshot(make_cluster(equal_nodes(4, 16)));
    std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> held;  // job, node: CPUs
    for (std::uint32_t step = 1; step <= 200; ++step) {
      const std::uint64_t what = rng.below(5);
      if (what <= 1 || held.empty()) {
        RunningJob job{JobId(step), PartitionIndex(0), {}, at(rng.between(0, 99))};
        for (std::uint32_t node = 0; node < 4; ++node) {
          if (!rng.chance(0.5)) continue;
          job.nodes.push_back(amount(node, static_cast<std::uint32_t>(1 + rng.below(4))));
          held[step][node] = job.nodes.back().cpus;
        }
        if (!job.nodes.empty()) snapshot.start_job(job);
      } else {
        auto chosen = std::next(held.begin(), static_cast<std::ptrdiff_t>(rng.below(held.size())));
        const JobId job(chosen->first);
        if (what == 2) {
          snapshot.end_job(job);
          held.erase(chosen);
        } else if (what == 3) {
          snapshot.release_node(job, NodeIndex(chosen->second.begin()->first));
          chosen->second.erase(chosen->second.begin());
          if (chosen->second.empty()) held.erase(chosen);
        } else {
          snapshot.change_end(job, at(rng.between(0, 99)));
        }
      }
      std::int64_t used[4] = {};
      for (const auto& [job, nodes] : held) {
        for (const auto& [node, cpus] : nodes) used[node] += cpus;
      }
      for (std::uint32_t node = 0; node < 4; ++node)
        ASSERT_EQ(snapshot.free().at(NodeIndex(node)).cpus, 16 - used[node]) << "step " << step;
      ASSERT_EQ(snapshot.running_count(), held.size());
      ASSERT_EQ(snapshot.ends().size(), held.size());
      ASSERT_TRUE(std::ranges::is_sorted(snapshot.ends()));
    }
  }
}

}  // namespace
}  // namespace muster::sched

#include "sched/jobs_ahead.h"

#include <gtest/gtest.h>

#include "sched/testing.h"

namespace muster::sched {
namespace {

using namespace testing;

constexpr PartitionIndex kMain{0};
constexpr PartitionIndex kHigh{1};

/// Three nodes of 4 CPUs and 2 GPUs in `main`, the first of them in `high`, whose tier is higher.
struct Queue : ::testing::Test {
  Queue() {
    std::vector<NodeConfig> nodes;
    for (const char* name : {"n0", "n1", "n2"})
      nodes.push_back(make_node(name, 4, 1000, {{"gpu", "", 2, {}}}));
    ClusterConfig config = make_cluster(std::move(nodes));
    config.partitions.push_back(make_partition("high", {0}));
    config.partitions[1].priority_tier = 10;
    snapshot = make_snapshot(std::move(config));
    snapshot.advance_time(at(0));
  }
  void add(std::uint32_t id, const ResourceRequest& request, PartitionList partitions = {kMain},
           std::uint32_t elements = 1, std::uint32_t throttle = 0) {
    PendingJob job = make_job(id, request);
    job.partitions = std::move(partitions);
    job.element_count = elements;
    job.throttle = throttle;
    snapshot.add_pending(std::move(job));
  }
  /// "count: the best of them".
  std::string ahead(std::uint32_t id) {
    const JobsAhead found = QueuePosition(snapshot, *snapshot.find_pending(JobId(id))).ahead(3);
    std::string text = std::to_string(found.count) + ":";
    for (const JobId job : found.first) text += " " + std::to_string(job.value());
    return text;
  }
  static ResourceRequest named(const std::string& node) {
    ResourceRequest request = tasks(1);
    request.required_nodes = {node};
    return request;
  }
  ClusterSnapshot snapshot;
};

TEST_F(Queue, GoesByRankAcrossLanes) {
  add(1, tasks(1));
  add(2, tasks(2));
  add(3, tasks(2));
  add(4, tasks(3));
  EXPECT_EQ(ahead(1), "0:");
  EXPECT_EQ(ahead(3), "2: 1 2");
  EXPECT_EQ(ahead(4), "3: 1 2 3");
}

TEST_F(Queue, AJobOfSeveralPartitionsIsAheadWhereItsTierCounts) {
  add(1, named("n2"));
  add(2, named("n2"));
  for (const std::uint32_t id : {3U, 4U, 5U}) add(id, tasks(1), {kHigh, kMain});
  EXPECT_EQ(ahead(2), "1: 1") << "the others have n2 in main alone, where they come later";
  EXPECT_EQ(ahead(3), "2: 1 2");
  EXPECT_EQ(ahead(5), "4: 3 4 1") << "those that meet it in high are the first";
  add(6, tasks(1));
  add(7, tasks(1), {kHigh});
  EXPECT_EQ(ahead(6), "6: 3 4 5") << "all but itself: who comes later goes first on n0";
}

TEST_F(Queue, HasTheElementsOfAnArrayThatMayStart) {
  add(1, tasks(1), {kMain}, 50);
  add(2, tasks(1), {kMain}, 50, 4);
  add(3, tasks(2));
  EXPECT_EQ(ahead(3), "54: 1 2");
}

TEST_F(Queue, IsThatOfTheSameNodes) {
  add(1, named("n0"));
  add(2, named("n1"));
  ResourceRequest wide = named("n0");
  wide.gres_per_job = {{"gpu", "", 4}};
  add(3, wide);
  add(4, named("n2"));
  EXPECT_EQ(ahead(2), "0:");
  EXPECT_EQ(ahead(3), "2: 1 2");
  EXPECT_EQ(ahead(4), "1: 3") << "it needs another node for its GPUs";
}

TEST_F(Queue, LeavesOutPartitionsThatTakeNobody) {
  ClusterConfig config = snapshot.config();
  config.partitions[1].state = PartitionState::kDown;
  snapshot.set_cluster(std::move(config));
  add(1, tasks(1));
  add(2, tasks(1), {kHigh});
  EXPECT_EQ(ahead(1), "0:");
}

TEST_F(Queue, LeavesOutNodesThatAreOutOfService) {
  add(1, named("n0"));
  ResourceRequest rest = tasks(1);
  rest.excluded_nodes = {"n1"};
  add(2, rest);
  EXPECT_EQ(ahead(2), "1: 1");
  snapshot.set_node_conditions(NodeIndex(0), node_condition::kDrain);
  EXPECT_EQ(ahead(2), "0:");
}

TEST_F(Queue, IsBehindWhoeverComesEarlierOnANodeOfItsOwn) {
  add(5, tasks(1), {kMain, kHigh});
  const QueuePosition position(snapshot, *snapshot.find_pending(JobId(5)));
  const Rank earlier{0, at(1), JobId(1), JobId(1)};
  const auto on = [](std::uint32_t node) {
    NodeAmount amount;
    amount.node = NodeIndex(node);
    return std::vector<NodeAmount>{amount};
  };
  EXPECT_FALSE(position.is_behind({1, earlier}, on(0))) << "it has n0 by the higher tier";
  EXPECT_TRUE(position.is_behind({10, earlier}, on(0)));
  EXPECT_TRUE(position.is_behind({1, earlier}, on(1)));
  EXPECT_FALSE(position.is_behind({1, Rank{0, at(9), JobId(9), JobId(9)}}, on(1)));
}

}  // namespace
}  // namespace muster::sched

#include "sched/snapshot/partition_fit.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "sched/testing.h"

namespace muster::sched {
namespace {

using namespace testing;

LimitsAnswer limits_of(std::uint32_t job_min, std::uint32_t job_max, std::uint32_t partition_min,
                       std::uint32_t partition_max) {
  ResourceRequest request;
  request.min_nodes = job_min;
  request.max_nodes = job_max;
  PartitionConfig partition;
  partition.min_nodes = partition_min;
  partition.max_nodes = partition_max;
  return node_limits(request, partition);
}

TEST(PartitionFit, NodeLimitsAreThoseOfJobAndPartitionTogether) {
  struct Case {
    std::uint32_t job_min, job_max, partition_min, partition_max, min, max;
  };
  for (const Case& c :
       {Case{1, 0, 0, 0, 1, UINT32_MAX}, Case{0, 0, 0, 0, 1, UINT32_MAX}, Case{2, 4, 0, 0, 2, 4},
        Case{2, 8, 3, 5, 3, 5}, Case{1, 0, 2, 2, 2, 2}, Case{4, 4, 1, 4, 4, 4}}) {
    const LimitsAnswer answer = limits_of(c.job_min, c.job_max, c.partition_min, c.partition_max);
    EXPECT_EQ(answer.refusal, PendingReason::kNone);
    EXPECT_EQ(answer.limits.min, c.min);
    EXPECT_EQ(answer.limits.max, c.max);
  }
  EXPECT_EQ(limits_of(5, 0, 0, 4).refusal, PendingReason::kPartitionNodeLimit);
  EXPECT_EQ(limits_of(1, 2, 3, 0).refusal, PendingReason::kPartitionNodeLimit);
}

TEST(PartitionFit, APartitionThatTakesNoWorkSaysWhy) {
  ClusterConfig config = make_cluster(equal_nodes(1, 4));
  PartitionConfig& partition = config.partitions[0];
  const auto refusal = [&](Duration limit, std::uint32_t index = 0) {
    return partition_refusal(make_snapshot(config), tasks(1), limit, PartitionIndex(index));
  };
  EXPECT_EQ(refusal(Duration::infinite()), PendingReason::kNone);
  partition.max_time = Duration::seconds(60);
  EXPECT_EQ(refusal(Duration::seconds(60)), PendingReason::kNone);
  EXPECT_EQ(refusal(Duration::seconds(61)), PendingReason::kPartitionTimeLimit);
  EXPECT_EQ(refusal(Duration::infinite()), PendingReason::kPartitionTimeLimit);
  partition.state = PartitionState::kDown;
  EXPECT_EQ(refusal(Duration::infinite()), PendingReason::kPartitionDown) << "before its limits";
  partition.state = PartitionState::kInactive;
  EXPECT_EQ(refusal(Duration::seconds(1)), PendingReason::kPartitionInactive);
  partition.state = PartitionState::kDrain;
  EXPECT_EQ(refusal(Duration::seconds(1)), PendingReason::kNone)
      << "it plans what it has taken in before";
  EXPECT_EQ(refusal(Duration::seconds(1), 1), PendingReason::kPartitionConfig);
}

TEST(PartitionFit, NodesAreWholeByRequestOrByPartition) {
  ClusterConfig config = make_cluster(equal_nodes(1, 4));
  config.partitions.push_back(make_partition("whole", {0}));
  config.partitions[1].is_exclusive = true;
  config.partitions[1].max_cpus_per_node = 2;
  const auto inventory = ClusterInventory::create(config);
  ResourceRequest request = tasks(1);
  EXPECT_FALSE(node_rule(*inventory, request, PartitionIndex(0)).is_exclusive);
  EXPECT_EQ(node_rule(*inventory, request, PartitionIndex(0)).cpu_quota, std::nullopt);
  EXPECT_TRUE(node_rule(*inventory, request, PartitionIndex(1)).is_exclusive);
  EXPECT_EQ(node_rule(*inventory, request, PartitionIndex(1)).cpu_quota, GresKindId(0));
  request.is_exclusive = true;
  EXPECT_TRUE(node_rule(*inventory, request, PartitionIndex(0)).is_exclusive);
}

std::vector<std::uint32_t> values(const std::vector<NodeIndex>& nodes) {
  std::vector<std::uint32_t> result;
  for (const NodeIndex node : nodes) result.push_back(node.value());
  return result;
}

TEST(PartitionFit, JobsLandWhereTheyLeaveTheLeast) {
  std::vector<NodeConfig> nodes = {make_node("n0", 8),
                                   make_node("n1", 8, 1000, {{"gpu", "", 2, {}}}),
                                   make_node("n2", 4), make_node("n3", 8)};
  nodes[3].weight = 0;
  const auto inventory = ClusterInventory::create(make_cluster(nodes));
  EXPECT_EQ(values(static_order(*inventory)), (std::vector<std::uint32_t>{3, 2, 0, 1}));
  FreeTable free = inventory->total;
  free.cpus(NodeIndex(0)) = 1;
  free.gres(NodeIndex(1), GresKindId(0)) = 0;
  EXPECT_EQ(values(BestFitOrder(*inventory, free).nodes()),
            (std::vector<std::uint32_t>{3, 0, 2, 1}));
  free.cpus(NodeIndex(1)) = -5;
  EXPECT_EQ(values(BestFitOrder(*inventory, free).nodes()),
            (std::vector<std::uint32_t>{3, 1, 0, 2}))
      << "overdrawn is as none";
}

TEST(PartitionFit, AnOrderThatIsBroughtUpToDateIsTheNewOne) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    std::vector<NodeConfig> nodes;
    for (std::uint32_t i = 0; i < 40; ++i) {
      nodes.push_back(make_node("n" + std::to_string(i), 8, 1000, {{"gpu", "", 4, {}}}));
      nodes.back().weight = static_cast<std::uint32_t>(rng.below(3));
    }
    const auto inventory = ClusterInventory::create(make_cluster(nodes));
    FreeTable free = inventory->total;
    BestFitOrder order(*inventory, free);
    for (int round = 0; round < 5; ++round) {
      std::vector<NodeIndex> changed;
      for (std::uint64_t i = rng.below(6); i > 0; --i) {
        const NodeIndex node(static_cast<std::uint32_t>(rng.below(40)));
        free.cpus(node) = static_cast<std::int32_t>(rng.between(-1, 8));
        free.gres(node, GresKindId(0)) = static_cast<std::int32_t>(rng.between(0, 4));
        changed.push_back(node);
      }
      order.update(*inventory, free, changed);
      const BestFitOrder anew(*inventory, free);
      ASSERT_EQ(order.nodes(), anew.nodes());
      NodeSet members(40);
      for (std::uint64_t i = rng.below(40); i > 0; --i)
        members.set(NodeIndex(static_cast<std::uint32_t>(rng.below(40))));
      const auto sorted = order.sorted(members);
      EXPECT_EQ(sorted.size(), members.count());
      EXPECT_TRUE(
          std::ranges::is_sorted(sorted, {}, [&](NodeIndex node) { return anew.place_of(node); }));
    }
  }
}

}  // namespace
}  // namespace muster::sched

#include "sched/placement/need.h"

#include <gtest/gtest.h>

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

TEST(Need, NodeLimitsAreThoseOfJobAndPartitionTogether) {
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

TEST(Need, APartitionThatTakesNoWorkSaysWhy) {
  ClusterConfig config = make_cluster(equal_nodes(1, 4));
  PartitionConfig& partition = config.partitions[0];
  const auto refusal = [&](Duration limit, std::uint32_t index = 0) {
    return Need::compile(std::make_shared<const ResourceRequest>(tasks(1)), PartitionIndex(index),
                         *ClusterInventory::create(config))
        .refusal_of(limit);
  };
  EXPECT_EQ(refusal(Duration::infinite()), PendingReason::kNone);
  partition.max_time = Duration::seconds(60);
  EXPECT_EQ(refusal(Duration::seconds(60)), PendingReason::kNone);
  EXPECT_EQ(refusal(Duration::seconds(61)), PendingReason::kPartitionTimeLimit);
  EXPECT_EQ(refusal(Duration::infinite()), PendingReason::kPartitionTimeLimit);
  partition.min_nodes = 2;
  partition.max_nodes = 1;
  EXPECT_EQ(refusal(Duration::seconds(61)), PendingReason::kPartitionTimeLimit);
  EXPECT_EQ(refusal(Duration::seconds(60)), PendingReason::kPartitionNodeLimit);
  partition.state = PartitionState::kDown;
  EXPECT_EQ(refusal(Duration::infinite()), PendingReason::kPartitionDown) << "before its limits";
  partition.state = PartitionState::kInactive;
  EXPECT_EQ(refusal(Duration::seconds(1)), PendingReason::kPartitionInactive);
  partition.state = PartitionState::kDrain;
  partition.min_nodes = partition.max_nodes = 0;
  EXPECT_EQ(refusal(Duration::seconds(1)), PendingReason::kNone)
      << "it plans what it has taken in before";
  EXPECT_EQ(refusal(Duration::seconds(1), 1), PendingReason::kPartitionConfig);
}

/// A partition's limit on CPUs of a node counts as the size of the node.
TEST(Need, ItsNodesAreThoseOfThePartitionThatCanCarryATask) {
  ClusterConfig config = make_cluster({make_node("n0", 8), make_node("n1", 8), make_node("n2", 2)});
  config.partitions.push_back(make_partition("part", {1, 2}));
  config.partitions.push_back(make_partition("quota", {0, 1, 2}));
  config.partitions[2].max_cpus_per_node = 3;
  const auto inventory = ClusterInventory::create(config);
  const auto nodes = [&](std::uint32_t partition, std::uint32_t cpus) {
    return Need::compile(std::make_shared<const ResourceRequest>(tasks(1, cpus)),
                         PartitionIndex(partition), *inventory)
        .nodes()
        .first(9);
  };
  EXPECT_EQ(nodes(0, 4), (std::vector{NodeIndex(0), NodeIndex(1)}));
  EXPECT_EQ(nodes(1, 4), std::vector{NodeIndex(1)});
  EXPECT_EQ(nodes(1, 2), (std::vector{NodeIndex(1), NodeIndex(2)}));
  EXPECT_EQ(nodes(2, 3), (std::vector{NodeIndex(0), NodeIndex(1)}));
  EXPECT_EQ(nodes(2, 4), std::vector<NodeIndex>());
  EXPECT_EQ(nodes(3, 1), std::vector<NodeIndex>()) << "there is no such partition";
}

TEST(Need, NodesAreWholeByRequestOrByPartition) {
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

}  // namespace
}  // namespace muster::sched

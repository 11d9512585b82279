#include "slurm/conf/conf_partition.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

ClusterConfig cluster_of(std::initializer_list<const char*> names) {
  ClusterConfig cluster;
  for (const char* name : names) cluster.nodes.emplace_back().name = name;
  return cluster;
}

Result<PartitionConfig> partition_of(std::string_view words,
                                     PartitionConfig partition = default_partition()) {
  for (const std::string_view word : split_words(words, ' ')) {
    const std::size_t equals = word.find('=');
    TRY(apply_conf_key(partition_conf_keys(), word.substr(0, equals), word.substr(equals + 1),
                       partition));
  }
  return partition;
}
std::vector<std::uint32_t> nodes_in(const ClusterConfig& cluster, const char* text) {
  PartitionConfig partition;
  partition.nodes_text = text;
  const Status status = resolve_partition(cluster, partition);
  EXPECT_TRUE(status.has_value()) << status.error().text();
  std::vector<std::uint32_t> indices;
  for (const NodeIndex node : partition.nodes) indices.push_back(node.value());
  return indices;
}

using Indices = std::vector<std::uint32_t>;

TEST(ConfPartition, NodesAreThoseOfTheListInTheClustersOrderEachOnce) {
  const ClusterConfig cluster = cluster_of({"b", "n1", "n2", "a"});
  EXPECT_EQ(nodes_in(cluster, "ALL"), (Indices{0, 1, 2, 3}));
  EXPECT_EQ(nodes_in(cluster, "all"), (Indices{0, 1, 2, 3}));
  EXPECT_EQ(nodes_in(cluster, "a,n[1-2],n1,b"), (Indices{0, 1, 2, 3}));
  EXPECT_EQ(nodes_in(cluster, "n2"), (Indices{2}));
  EXPECT_EQ(nodes_in(cluster, ""), Indices{});
  EXPECT_EQ(nodes_in(cluster_of({}), "ALL"), Indices{});
}

TEST(ConfPartition, ANodeThatIsNotThereIsNamedWithTheNearest) {
  PartitionConfig partition;
  partition.nodes_text = "node[1-2]";
  EXPECT_EQ(resolve_partition(cluster_of({"node1", "x"}), partition).error().text(),
            "Nodes=node[1-2]: there is no node node2: is it node1?");
  EXPECT_EQ(resolve_partition(cluster_of({"x"}), partition).error().text(),
            "Nodes=node[1-2]: there is no node node1: configure it by a NodeName line");
  partition.nodes_text = "n[1-";
  EXPECT_FALSE(resolve_partition(cluster_of({"x"}), partition).has_value());
}

struct MemoryPair {
  std::uint64_t per_cpu = 0;
  std::uint64_t per_node = 0;
  friend bool operator==(const MemoryPair&, const MemoryPair&) = default;
};

/// What a partition has by default after the cluster's own pair.
MemoryPair resolved(MemoryPair of_cluster, MemoryPair of_partition) {
  ClusterConfig cluster;
  cluster.settings.default_memory_per_cpu_mib = of_cluster.per_cpu;
  cluster.settings.default_memory_per_node_mib = of_cluster.per_node;
  PartitionConfig partition;
  partition.default_memory_per_cpu_mib = of_partition.per_cpu;
  partition.default_memory_per_node_mib = of_partition.per_node;
  EXPECT_TRUE(resolve_partition(cluster, partition).has_value());
  return {partition.default_memory_per_cpu_mib, partition.default_memory_per_node_mib};
}

TEST(ConfPartition, TheClustersMemoryCountsWhereThePartitionHasNoneOfTheKind) {
  EXPECT_EQ(resolved({5, 0}, {}), (MemoryPair{5, 0}));
  EXPECT_EQ(resolved({0, 6}, {}), (MemoryPair{0, 6}));
  EXPECT_EQ(resolved({5, 0}, {7, 0}), (MemoryPair{7, 0}));
  EXPECT_EQ(resolved({5, 0}, {0, 8}), (MemoryPair{0, 8})) << "never both";
}

TEST(ConfPartition, MemoryPerGpuIsInheritedByItself) {
  ClusterConfig cluster;
  cluster.settings.default_memory_per_cpu_mib = 5;
  cluster.settings.default_memory_per_gpu_mib = 9;
  cluster.settings.max_memory_per_node_mib = 100;
  PartitionConfig partition;
  partition.max_memory_per_cpu_mib = 3;
  ASSERT_TRUE(resolve_partition(cluster, partition).has_value());
  EXPECT_EQ(partition.default_memory_per_gpu_mib, 9U);
  EXPECT_EQ(partition.default_memory_per_cpu_mib, 5U);
  EXPECT_EQ(partition.max_memory_per_cpu_mib, 3U);
  EXPECT_EQ(partition.max_memory_per_node_mib, 0U);
}

TEST(ConfPartition, TwoDefaultsOfMemoryAreAContradiction) {
  PartitionConfig partition;
  partition.default_memory_per_cpu_mib = partition.default_memory_per_node_mib = 1;
  EXPECT_EQ(resolve_partition(ClusterConfig{}, partition).error().text(),
            "DefMemPerCPU and DefMemPerNode are both set: set one of them");
}

TEST(ConfPartition, PriorityIsBothOfItsParts) {
  const auto partition = partition_of("PriorityTier=1 Priority=7");
  EXPECT_EQ(partition->priority_tier, 7U);
  EXPECT_EQ(partition->priority_job_factor, 7U);
  EXPECT_EQ(partition_of("Priority=7 PriorityTier=1")->priority_tier, 1U);
  EXPECT_FALSE(partition_of("Priority=65534").has_value());
}

TEST(ConfPartition, SharingIsApartOrWholeNodes) {
  EXPECT_TRUE(partition_of("OverSubscribe=exclusive")->is_exclusive);
  for (const char* word : {"NO", "YES", "yes:3", "FORCE:1"}) {
    const auto partition = partition_of(std::string("OverSubscribe=EXCLUSIVE Shared=") + word);
    ASSERT_TRUE(partition.has_value()) << word;
    EXPECT_FALSE(partition->is_exclusive) << word << " takes the former back";
  }
  for (const char* word : {"FORCE", "FORCE:2", "FORCE:10", "maybe", ""})
    EXPECT_FALSE(partition_of(std::string("OverSubscribe=") + word).has_value()) << word;
}

TEST(ConfPartition, StatesInAnyCase) {
  EXPECT_EQ(partition_of("State=down")->state, PartitionState::kDown);
  EXPECT_EQ(partition_of("State=DRAIN")->state, PartitionState::kDrain);
  EXPECT_EQ(partition_of("State=Inactive")->state, PartitionState::kInactive);
  EXPECT_EQ(partition_of("State=UP")->state, PartitionState::kUp);
  EXPECT_FALSE(partition_of("State=OPEN").has_value());
}

TEST(ConfPartition, WithoutAWordItFollowsTheCluster) {
  EXPECT_LT(default_partition().over_time_limit, Duration()) << "none of its own";
  EXPECT_TRUE(default_partition().max_time.is_infinite());
  EXPECT_EQ(default_partition().state, PartitionState::kUp);
}

TEST(ConfPartition, RefusedKeysPassWithTheirNeutralValuesAlone) {
  for (const ConfKey<PartitionConfig>& key : partition_conf_keys()) {
    if (key.handling != ConfHandling::kRefused) continue;
    PartitionConfig partition;
    EXPECT_FALSE(
        apply_conf_key(partition_conf_keys(), key.name, "something", partition).has_value())
        << key.name;
    for (const std::string_view neutral : split_words(key.neutral, '|')) {
      EXPECT_TRUE(apply_conf_key(partition_conf_keys(), key.name, neutral, partition).has_value())
          << key.name;
    }
    EXPECT_EQ(partition, PartitionConfig()) << key.name << " changes nothing";
  }
}

}  // namespace
}  // namespace muster

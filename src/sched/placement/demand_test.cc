#include "sched/placement/demand.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/rng.h"
#include "sched/planner.h"
#include "sched/satisfiable.h"
#include "sched/testing.h"

namespace muster::sched {
namespace {

using namespace testing;

NodeConfig node_with(std::uint32_t boards, std::uint32_t sockets, std::uint32_t cores,
                     std::uint32_t threads) {
  NodeConfig node = make_node("n0", sockets * cores * threads);
  node.boards = boards;
  node.sockets = sockets;
  node.cores_per_socket = cores;
  node.threads_per_core = threads;
  return node;
}
NodeInventory inventory_of(NodeConfig node, bool is_core_consumable = true) {
  ClusterConfig config = make_cluster({std::move(node)});
  config.settings.is_core_consumable = is_core_consumable;
  return ClusterInventory::create(std::move(config))->nodes[0];
}
Demand compile(const ClusterInventory& inventory, ResourceRequest request) {
  return Demand::compile(std::make_shared<const ResourceRequest>(std::move(request)), inventory);
}
std::vector<std::uint32_t> indices(const NodeSet& nodes) {
  std::vector<std::uint32_t> result;
  nodes.for_each([&](NodeIndex node) { result.push_back(node.value()); });
  return result;
}
using Indices = std::vector<std::uint32_t>;

/// A node without GPUs, two with two kinds of them.
ClusterConfig gpu_cluster() {
  return make_cluster({make_node("c0", 8, 1000, {}, {"big", "old"}),
                       make_node("g1", 8, 1000, {{"gpu", "a100", 2, {}}}, {"big"}),
                       make_node("g2", 8, 1000, {{"gpu", "h100", 4, {}}, {"gpu", "a100", 1, {}}})});
}

// ---- inventory ----

/// By bytes "n10" is before "n9", for people behind it.
TEST(Demand, NamesMayComeInAnyOrder) {
  const auto inventory = ClusterInventory::create(make_cluster(equal_nodes(12, 4)));
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"n9", "n10"}, {"n10", "n9"}, {"n2", "n10", "n11", "n1"}}) {
    ResourceRequest request;
    request.required_nodes = names;
    const Demand required = compile(*inventory, request);
    EXPECT_EQ(required.required_count, names.size());
    EXPECT_FALSE(required.has_unknown_name);
    request = {};
    request.excluded_nodes = names;
    EXPECT_EQ(compile(*inventory, request).feasible_nodes.count(), 12 - names.size());
  }
}

TEST(ClusterInventory, CpusAreGivenOutInWholeCores) {
  EXPECT_EQ(inventory_of(node_with(1, 2, 4, 2)).core_unit, 2U);
  EXPECT_EQ(inventory_of(node_with(1, 2, 4, 1)).core_unit, 1U);
  EXPECT_EQ(inventory_of(node_with(1, 2, 4, 2), false).core_unit, 1U) << "CR_CPU";
  NodeConfig cores_alone = node_with(1, 2, 4, 2);
  cores_alone.cpus = 8;
  EXPECT_EQ(inventory_of(cores_alone).core_unit, 1U) << "a CPU is a core there";
}

TEST(ClusterInventory, BoardsMakeNeitherMoreSocketsNorHalfCores) {
  for (const std::uint32_t boards : {1U, 2U, 4U}) {
    const NodeInventory inventory = inventory_of(node_with(boards, 4, 2, 2));
    EXPECT_EQ(inventory.sockets, 4U) << boards;
    EXPECT_EQ(inventory.core_unit, 2U) << boards << ": no job gets half a core";
  }
}

TEST(ClusterInventory, AJobOnANodeOfTwoBoardsTakesWholeCores) {
  ClusterSnapshot snapshot = make_snapshot(make_cluster({node_with(2, 2, 4, 2)}));
  snapshot.advance_time(at(0));
  snapshot.add_pending(make_job(1, tasks(3)));
  EXPECT_EQ(placed(plan(snapshot, at(0)), 1), "n0:3/4");
}

TEST(ClusterInventory, KindsAreInternedInTheOrderOfTheConfiguration) {
  const auto inventory = ClusterInventory::create(gpu_cluster());
  EXPECT_EQ(inventory->kinds, (std::vector<GresKind>{{"gpu", "a100"}, {"gpu", "h100"}}));
  EXPECT_EQ(inventory->matching_kinds("gpu", ""), (std::vector{GresKindId(0), GresKindId(1)}));
  EXPECT_EQ(inventory->matching_kinds("gpu", "h100"), std::vector{GresKindId(1)});
  EXPECT_TRUE(inventory->matching_kinds("gpu", "b200").empty());
  EXPECT_TRUE(inventory->matching_kinds("nic", "").empty());
  EXPECT_EQ(inventory->total.at(NodeIndex(2)).gres[0], 1);
  EXPECT_EQ(inventory->total.at(NodeIndex(2)).gres[1], 4);
  EXPECT_EQ(inventory->total.at(NodeIndex(0)).gres[1], 0);
}

TEST(ClusterInventory, PoolsOfOneKindAddUpAndStopAtTheLargestNumber) {
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  const auto inventory = ClusterInventory::create(
      make_cluster({make_node("n0", 1, 1, {{"gpu", "", 2, {}}, {"gpu", "", 3, {}}}),
                    make_node("n1", 1, 1, {{"gpu", "", kMost, {}}, {"gpu", "", kMost, {}}})}));
  EXPECT_EQ(inventory->total.at(NodeIndex(0)).gres[0], 5);
  EXPECT_EQ(inventory->total.at(NodeIndex(1)).gres[0], std::numeric_limits<std::int32_t>::max());
}

TEST(ClusterInventory, MemoryThatIsNotHandedOutIsNeverUsedUp) {
  ClusterConfig config = make_cluster(equal_nodes(1, 4, 1000));
  EXPECT_EQ(ClusterInventory::create(config)->total.at(NodeIndex(0)).memory_mib, 1000);
  config.settings.is_memory_consumable = false;
  EXPECT_GT(ClusterInventory::create(config)->total.at(NodeIndex(0)).memory_mib,
            std::int64_t{1} << 60);
}

TEST(ClusterInventory, NodesOfOneClassDifferInTheirNamesAlone) {
  std::vector<NodeConfig> nodes = equal_nodes(3, 4);
  nodes[1].features = {"ib"};
  nodes.push_back(make_node("x", 4, 1000, {{"gpu", "", 1, {}}}));
  nodes.push_back(make_node("y", 4, 1001));
  nodes.push_back(make_node("z", 4));
  const auto inventory = ClusterInventory::create(make_cluster(nodes));
  EXPECT_EQ(inventory->class_of, (Indices{0, 1, 0, 2, 3, 0}));
  EXPECT_EQ(inventory->classes,
            (std::vector{NodeIndex(0), NodeIndex(1), NodeIndex(3), NodeIndex(4)}));
}

TEST(ClusterInventory, WeightSortsNodesAndTheIndexDecidesTies) {
  std::vector<NodeConfig> nodes = equal_nodes(4, 4);
  nodes[0].weight = 9;
  nodes[2].weight = 0;
  const auto inventory = ClusterInventory::create(make_cluster(nodes));
  EXPECT_EQ(inventory->by_weight,
            (std::vector{NodeIndex(2), NodeIndex(1), NodeIndex(3), NodeIndex(0)}));
}

TEST(ClusterInventory, AQuotaIsAKindBehindTheRealOnes) {
  ClusterConfig config = gpu_cluster();
  config.partitions.push_back(make_partition("few", {0, 1}));
  config.partitions[1].max_cpus_per_node = 3;
  const auto inventory = ClusterInventory::create(config);
  EXPECT_EQ(inventory->cpu_quota(PartitionIndex(0)), std::nullopt);
  EXPECT_EQ(inventory->cpu_quota(PartitionIndex(1)), GresKindId(2));
  EXPECT_EQ(inventory->cpu_quota(PartitionIndex(7)), std::nullopt) << "a partition that is gone";
  EXPECT_EQ(inventory->total.at(NodeIndex(0)).gres[2], 3);
  const NodeAmount plain{NodeIndex(1), 1, 2, 0, {{GresKindId(0), 1}}};
  const NodeAmount charged = inventory->charged(plain, PartitionIndex(1));
  EXPECT_EQ(charged.gres, (std::vector<GresCount>{{GresKindId(0), 1}, {GresKindId(2), 2}}));
  EXPECT_EQ(inventory->charged(charged, PartitionIndex(1)), charged) << "once";
  EXPECT_EQ(inventory->charged(charged, PartitionIndex(0)), plain);
  const NodeAmount whole{NodeIndex(1), 1, 8, 0, {}};
  EXPECT_EQ(inventory->charged(whole, PartitionIndex(1)).gres,
            (std::vector<GresCount>{{GresKindId(2), 3}}))
      << "no more than there is";
}

TEST(ClusterFactsDeathTest, APartitionOfNodesThatAreNotThereIsABug) {
  ClusterConfig config = make_cluster(equal_nodes(1, 1));
  config.partitions.push_back(make_partition("more", {1}));
  EXPECT_DEATH(ClusterInventory::create(config), "partition more names node 1");
}

// ---- matching ----

TEST(Demand, NodesMustHaveOneAlternativesFeatures) {
  const auto inventory = ClusterInventory::create(gpu_cluster());
  const auto matching = [&](std::vector<std::vector<std::string>> alternatives) {
    ResourceRequest request = tasks(1);
    request.features.alternatives = std::move(alternatives);
    return indices(matching_nodes(request, *inventory));
  };
  EXPECT_EQ(matching({}), (Indices{0, 1, 2}));
  EXPECT_EQ(matching({{"big"}}), (Indices{0, 1}));
  EXPECT_EQ(matching({{"big", "old"}}), (Indices{0}));
  EXPECT_EQ(matching({{"old"}, {"big"}}), (Indices{0, 1}));
  EXPECT_EQ(matching({{"none"}}), Indices{});
  EXPECT_EQ(matching({{}}), (Indices{0, 1, 2})) << "an alternative that asks for nothing";
}

TEST(Demand, NodesMustBeLargeEnoughInEveryPart) {
  NodeConfig node = node_with(2, 4, 8, 2);
  node.tmp_disk_mib = 100;
  const auto inventory = ClusterInventory::create(make_cluster({node}));
  for (const auto& [part, most] : {std::pair(&ResourceRequest::sockets_per_node, 4U),
                                   std::pair(&ResourceRequest::cores_per_socket, 8U),
                                   std::pair(&ResourceRequest::threads_per_core, 2U),
                                   std::pair(&ResourceRequest::tmp_disk_mib, 100U)}) {
    ResourceRequest request = tasks(1);
    request.*part = most;
    EXPECT_EQ(matching_nodes(request, *inventory).count(), 1U) << most;
    request.*part = most + 1;
    EXPECT_EQ(matching_nodes(request, *inventory).count(), 0U) << most;
  }
}

TEST(Demand, ExcludedNodesAreLeftOutAndNamedOnesRequired) {
  const auto inventory = ClusterInventory::create(gpu_cluster());
  ResourceRequest request = tasks(1);
  request.excluded_nodes = {"c0", "nobody"};
  request.required_nodes = {"g1", "g2"};
  const Demand demand = compile(*inventory, request);
  EXPECT_EQ(indices(demand.feasible_nodes), (Indices{1, 2}));
  EXPECT_EQ(indices(demand.required), (Indices{1, 2}));
  EXPECT_EQ(demand.required_count, 2U);
  EXPECT_FALSE(demand.has_unknown_name);
  request.required_nodes = {"g1", "nobody"};
  EXPECT_TRUE(compile(*inventory, request).has_unknown_name);
}

TEST(Demand, PreferredNodesAreSomeOfTheFeasibleOnes) {
  const auto inventory = ClusterInventory::create(gpu_cluster());
  ResourceRequest request = tasks(1);
  EXPECT_EQ(compile(*inventory, request).preferred, std::nullopt);
  request.preferred.alternatives = {{"big"}};
  request.excluded_nodes = {"c0"};
  EXPECT_EQ(indices(*compile(*inventory, request).preferred), (Indices{1}));
  request.preferred.alternatives = {{"none"}};
  EXPECT_TRUE(compile(*inventory, request).preferred->empty());
}

// ---- inequalities ----

TEST(Demand, TypedAndUntypedNeedsOfOneNameAreCheckedTogether) {
  const auto inventory = ClusterInventory::create(gpu_cluster());
  ResourceRequest request = tasks(2);
  request.gres_per_node = {{"gpu", "", 2}, {"gpu", "h100", 1}};
  request.gres_per_task = {{"gpu", "a100", 1}};
  request.gres_per_job = {{"gpu", "", 5}};
  const Demand demand = compile(*inventory, request);
  ASSERT_EQ(demand.checks.size(), 3U);
  EXPECT_EQ(demand.checks[0].kinds, std::vector{GresKindId(0)});
  EXPECT_EQ(demand.checks[0].per_node, 0U);
  EXPECT_EQ(demand.checks[0].per_task, 1U);
  EXPECT_EQ(demand.checks[0].job_needs, 0U);
  EXPECT_EQ(demand.checks[1].kinds, (std::vector{GresKindId(0), GresKindId(1)}));
  EXPECT_EQ(demand.checks[1].per_node, 3U);
  EXPECT_EQ(demand.checks[1].per_task, 1U);
  EXPECT_EQ(demand.checks[1].job_needs, 1U);
  EXPECT_EQ(demand.checks[2].per_node, 1U);
}

TEST(Demand, NothingIsNoNeedAndAnUnknownNameIsNone) {
  const auto inventory = ClusterInventory::create(gpu_cluster());
  EXPECT_TRUE(compile(*inventory, gpus_per_node(0)).checks.empty());
  EXPECT_FALSE(compile(*inventory, gpus_per_node(0, "b200")).has_unknown_name);
  EXPECT_TRUE(compile(*inventory, gpus_per_node(1, "b200")).has_unknown_name);
}

TEST(Demand, TasksPerGpuImplyAsManyGpusAsTheTasksNeed) {
  const auto inventory = ClusterInventory::create(gpu_cluster());
  const auto implied = [&](std::uint32_t task_count, std::uint32_t per_gpu) {
    ResourceRequest request = tasks(task_count);
    request.tasks_per_gpu = per_gpu;
    const Demand demand = compile(*inventory, request);
    return demand.per_job.empty() ? 0 : demand.per_job[0].count;
  };
  EXPECT_EQ(implied(4, 2), 2U);
  EXPECT_EQ(implied(5, 2), 3U);
  EXPECT_EQ(implied(1, 8), 1U);
  EXPECT_EQ(implied(5, 0), 0U);
  EXPECT_EQ(implied(UINT32_MAX, 2), 2147483648U) << "and not none";
  EXPECT_EQ(implied(UINT32_MAX, UINT32_MAX), 1U);
  ResourceRequest request = gpus_per_node(1);
  request.tasks_per_gpu = 2;
  EXPECT_TRUE(compile(*inventory, request).per_job.empty()) << "a number was given";
}

TEST(Demand, AJobNamesAtMostFourResourcesOfTheWholeJob) {
  std::vector<GresPool> pools;
  ResourceRequest request = tasks(1);
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    pools.push_back({name, "", 4, {}});
    request.gres_per_job.push_back({name, "", 1});
  }
  const auto inventory = ClusterInventory::create(make_cluster({make_node("n0", 4, 1000, pools)}));
  EXPECT_TRUE(compile(*inventory, request).has_unknown_name);
  request.gres_per_job.pop_back();
  EXPECT_FALSE(compile(*inventory, request).has_unknown_name);
}

TEST(Demand, CountsThatAddUpBeyondNumbersFitNowhere) {
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  const ClusterConfig config = make_cluster({make_node("n0", 8, 1000, {{"gpu", "h100", 4, {}}})});
  for (const auto amounts : {&ResourceRequest::gres_per_node, &ResourceRequest::gres_per_task}) {
    ResourceRequest request = tasks(1);
    (request.*amounts) = {{"gpu", "", kMost}, {"gpu", "h100", 2}};
    const auto inventory = ClusterInventory::create(config);
    EXPECT_FALSE(check_satisfiable(*inventory, request, PartitionIndex(0), Duration::seconds(1))
                     .is_satisfiable());
    ClusterSnapshot snapshot = make_snapshot(config);
    snapshot.advance_time(at(0));
    snapshot.add_pending(make_job(1, request));
    EXPECT_EQ(placed(plan(snapshot, at(0)), 1), "-");
  }
}

}  // namespace
}  // namespace muster::sched

#include <gtest/gtest.h>

#include "base/rng.h"
#include "sched/planner.h"
#include "sched/satisfiable.h"
#include "sched/testing.h"

namespace muster::sched {
namespace {

using namespace testing;

/// Where one job alone lands on an empty cluster.
std::string land(ClusterConfig config, const ResourceRequest& request) {
  ClusterSnapshot snapshot = make_snapshot(std::move(config));
  snapshot.advance_time(at(0));
  snapshot.add_pending(make_job(1, request));
  return placed(plan(snapshot, at(0)), 1);
}
Start start_of(ClusterConfig config, const ResourceRequest& request) {
  ClusterSnapshot snapshot = make_snapshot(std::move(config));
  snapshot.advance_time(at(0));
  snapshot.add_pending(make_job(1, request));
  const Plan result = plan(snapshot, at(0));
  return result.starts.empty() ? Start{} : result.starts[0];
}
ClusterConfig typed_gpu_cluster() {
  return make_cluster({make_node("c0", 8), make_node("g1", 8, 1000, {{"gpu", "a100", 2, {}}}),
                       make_node("g2", 8, 1000, {{"gpu", "a100", 2, {}}, {"gpu", "h100", 4, {}}})});
}

// Slurm's documentation of --distribution: three nodes of 2 sockets with 4 cores.
TEST(Placement, DistributionExamples) {
  const ClusterConfig config = make_cluster(equal_nodes(3, 8));
  EXPECT_EQ(land(config, on_nodes(1, 2, 3)), "n0:2/6");
  EXPECT_EQ(land(config, on_nodes(3, 3, 3)), "n0:1/3 n1:1/3 n2:1/3");
  ResourceRequest request = on_nodes(2, 6, 2);
  request.tasks_per_node = 3;
  EXPECT_EQ(land(config, request), "n0:3/6 n1:3/6");
}

TEST(Placement, BlocksLeaveOneTaskForEachLaterNode) {
  EXPECT_EQ(land(make_cluster(equal_nodes(2, 16)), on_nodes(2, 8)), "n0:7/7 n1:1/1");
  EXPECT_EQ(land(make_cluster(equal_nodes(2, 16)), tasks(20)), "n0:16/16 n1:4/4");
}

/// Nodes of 2 sockets with 4 cores of 2 threads, 16 CPUs each; 100 MiB for each CPU, as
/// DefMemPerCPU=100 sets aside.
ClusterConfig threaded_cluster(std::uint32_t count) {
  ClusterConfig config = make_cluster(equal_nodes(count, 16));
  for (NodeConfig& node : config.nodes) {
    node.sockets = 2;
    node.cores_per_socket = 4;
    node.threads_per_core = 2;
    node.memory_mib = 16000;
  }
  return config;
}

// What Slurm 22.05.8 gave on such nodes: tasks and CPUs of each.
TEST(Placement, LayoutsOnTwoThreadsPerCoreAsSlurms) {
  struct Case {
    std::uint32_t nodes;
    std::uint32_t tasks;
    std::uint32_t cpus_per_task;
    const char* expected;
  };
  const Case cases[] = {
      {3, 8, 1, "n0:4/4 n1:2/2 n2:2/2"},
      {3, 7, 1, "n0:3/4 n1:2/2 n2:2/2"},
      {3, 6, 1, "n0:2/2 n1:2/2 n2:2/2"},
      {3, 5, 1, "n0:2/2 n1:2/2 n2:1/2"},
      {3, 4, 1, "n0:2/2 n1:1/2 n2:1/2"},
      {2, 3, 1, "n0:2/2 n1:1/2"},
      {2, 5, 1, "n0:3/4 n1:2/2"},
      {3, 20, 1, "n0:16/16 n1:2/2 n2:2/2"},
      {4, 9, 1, "n0:3/4 n1:2/2 n2:2/2 n3:2/2"},
      {2, 17, 1, "n0:15/16 n1:2/2"},
      {2, 31, 1, "n0:16/16 n1:15/16"},
      {3, 8, 2, "n0:6/12 n1:1/2 n2:1/2"},
      {2, 8, 3, "n0:5/16 n1:3/10"},
      {2, 3, 3, "n0:2/6 n1:1/4"},
      {4, 8, 3, "n0:5/16 n1:1/4 n2:1/4 n3:1/4"},
      {4, 5, 3, "n0:2/6 n1:1/4 n2:1/4 n3:1/4"},
      {3, 4, 3, "n0:2/6 n1:1/4 n2:1/4"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(land(threaded_cluster(4), on_nodes(one.nodes, one.tasks, one.cpus_per_task)),
              one.expected)
        << one.nodes << " nodes, " << one.tasks << " tasks of " << one.cpus_per_task;
  }
  ResourceRequest least = on_nodes(3, 8);
  least.min_cpus_per_node = 4;
  EXPECT_EQ(land(threaded_cluster(3), least), "n0:3/4 n1:3/4 n2:2/4");
  ResourceRequest whole = on_nodes(2, 6);
  whole.is_exclusive = true;
  EXPECT_EQ(land(threaded_cluster(2), whole), "n0:3/16 n1:3/16");
  ResourceRequest shared = on_nodes(2, 8);
  shared.is_overcommit = true;
  EXPECT_EQ(land(threaded_cluster(2), shared), "n0:4/2 n1:4/2");
}

TEST(Placement, MemoryIsChargedForTheThreadsThatTasksMayUse) {
  ResourceRequest request = tasks(4);
  request.threads_per_core = 1;
  request.memory_scope = MemoryScope::kPerCpu;
  request.memory_mib = 100;
  const auto charged = [](const ResourceRequest& wanted) {
    const Start start = start_of(threaded_cluster(3), wanted);
    std::string text;
    for (const NodeAmount& amount : start.nodes)
      text += fmt::format("{}/{}/{} ", amount.task_count, amount.cpus, amount.memory_mib);
    return text;
  };
  EXPECT_EQ(charged(request), "4/8/400 ");
  request.task_count = 20;
  EXPECT_EQ(charged(request), "8/16/800 8/16/800 4/8/400 ");
  request.task_count = 4;
  request.min_nodes = request.max_nodes = 2;
  EXPECT_EQ(charged(request), "3/6/300 1/2/100 ");
  request.min_nodes = request.max_nodes = 1;
  request.task_count = 3;
  request.cpus_per_task = 2;
  EXPECT_EQ(charged(request), "3/12/600 ");
  request.cpus_per_task = 1;
  request.is_exclusive = true;
  EXPECT_EQ(charged(request), "3/16/800 ");
  request.threads_per_core = 0;
  EXPECT_EQ(charged(request), "3/16/1600 ");
}

TEST(Placement, PreferredNodesAreTakenWhereTheySuffice) {
  std::vector<NodeConfig> nodes = equal_nodes(4, 4);
  nodes[2].features = nodes[3].features = {"fast"};
  ResourceRequest request = on_nodes(2, 2);
  EXPECT_EQ(land(make_cluster(nodes), request), "n0:1/1 n1:1/1");
  request.preferred.alternatives = {{"fast"}};
  EXPECT_EQ(land(make_cluster(nodes), request), "n2:1/1 n3:1/1");
  nodes[3].features.clear();
  EXPECT_EQ(land(make_cluster(nodes), request), "n0:1/1 n1:1/1")
      << "one of them alone is not enough";
}

TEST(Placement, TasksPerNodeOnARangeOfNodesFollowTheNodes) {
  ResourceRequest request = on_nodes(2, 4);
  request.max_nodes = 4;
  request.tasks_per_node = 2;
  request.min_cpus_per_node = 2;
  request.is_tasks_per_node_exact = true;
  EXPECT_EQ(land(make_cluster(equal_nodes(6, 4)), request), "n0:2/2 n1:2/2 n2:2/2 n3:2/2");
  EXPECT_EQ(land(make_cluster(equal_nodes(3, 4)), request), "n0:2/2 n1:2/2 n2:2/2");
  EXPECT_EQ(land(make_cluster(equal_nodes(6, 1)), request), "-")
      << "a node that holds fewer is of no use";
  request.is_fewest_nodes = true;
  EXPECT_EQ(land(make_cluster(equal_nodes(6, 4)), request), "n0:2/2 n1:2/2");
  request.is_fewest_nodes = false;
  ClusterConfig uneven = make_cluster({make_node("a", 1), make_node("b", 4), make_node("c", 4)});
  EXPECT_EQ(land(uneven, request), "n1:2/2 n2:2/2");
  uneven.partitions[0].min_nodes = 3;
  EXPECT_EQ(land(uneven, request), "-");
}

// Each partition's own defaults count in it, whichever is named first.
TEST(Placement, DefaultsAreThoseOfThePartitionThatIsChosen) {
  ClusterConfig config = make_cluster({make_node("a", 4), make_node("b", 4)});
  config.partitions = {make_partition("cheap", {0}), make_partition("dear", {1})};
  const auto with_memory = [](std::uint64_t mib) {
    ResourceRequest request = tasks(2);
    request.memory_scope = MemoryScope::kPerCpu;
    request.memory_mib = mib;
    return std::make_shared<const ResourceRequest>(request);
  };
  PendingJob job = make_job(1, *with_memory(50));
  job.partitions = {PartitionIndex(0), PartitionIndex(1)};
  job.later_requests = {with_memory(300)};
  for (const bool is_cheap_there : {true, false}) {
    ClusterSnapshot snapshot = make_snapshot(config);
    snapshot.advance_time(at(0));
    if (!is_cheap_there) snapshot.set_node_conditions(NodeIndex(0), node_condition::kDown);
    snapshot.add_pending(job);
    const Plan result = plan(snapshot, at(0));
    ASSERT_EQ(result.starts.size(), 1U);
    EXPECT_EQ(result.starts[0].partition, PartitionIndex(is_cheap_there ? 0 : 1));
    EXPECT_EQ(result.starts[0].nodes[0].memory_mib, is_cheap_there ? 100U : 600U);
  }
  // What does not fit by one partition's defaults may fit by the other's.
  job.later_requests = {with_memory(600)};
  ClusterSnapshot snapshot = make_snapshot(config);
  snapshot.advance_time(at(0));
  snapshot.set_node_conditions(NodeIndex(0), node_condition::kDown);
  snapshot.add_pending(job);
  EXPECT_TRUE(plan(snapshot, at(0)).starts.empty())
      << "2 CPUs of 600 MiB are more than the node has";
  // Jobs that differ in a later partition alone are of two lanes.
  PendingJob other = job;
  other.id = JobId(2);
  other.later_requests = {with_memory(70)};
  snapshot.add_pending(other);
  EXPECT_EQ(placed(plan(snapshot, at(0)), 2), "n1:2/2");
}

TEST(Placement, FewestNodesThenTheTightest) {
  ClusterConfig config = make_cluster({make_node("a", 4), make_node("b", 16), make_node("c", 8)});
  EXPECT_EQ(land(config, tasks(6)), "n2:6/6");
  EXPECT_EQ(land(config, tasks(20)), "n0:4/4 n1:16/16");
  EXPECT_EQ(land(config, tasks(22)), "n1:16/16 n2:6/6");
  EXPECT_EQ(land(config, tasks(29)), "-");
}

TEST(Placement, LowerWeightGoesBeforeEverything) {
  ClusterConfig config = make_cluster({make_node("a", 4), make_node("b", 16)});
  config.nodes[0].weight = 5;
  EXPECT_EQ(land(config, tasks(2)), "n1:2/2");
}

TEST(Placement, WholeCores) {
  ClusterConfig config = make_cluster({make_node("a", 8)});
  config.nodes[0].cores_per_socket = 4;
  config.nodes[0].threads_per_core = 2;
  EXPECT_EQ(land(config, tasks(1, 3)), "n0:1/4");
  ResourceRequest one_thread = tasks(1, 3);
  one_thread.threads_per_core = 1;
  EXPECT_EQ(land(config, one_thread), "n0:1/6");
  config.settings.is_core_consumable = false;
  EXPECT_EQ(land(config, tasks(1, 3)), "n0:1/3");
}

TEST(Placement, ExclusiveTakesWholeUntouchedNodes) {
  ClusterSnapshot snapshot = make_snapshot(make_cluster(equal_nodes(2, 4)));
  snapshot.add_pending(make_job(1, tasks(1)));
  apply(snapshot, plan(snapshot, at(0)));
  ResourceRequest whole = tasks(1);
  whole.is_exclusive = true;
  snapshot.add_pending(make_job(2, whole));
  EXPECT_EQ(placed(plan(snapshot, at(0)), 2), "n1:1/4");
}

TEST(Placement, MemoryPerNodeCpuAndAll) {
  ClusterConfig config = make_cluster(equal_nodes(1, 8, 1000));
  ResourceRequest request = tasks(4);
  request.memory_scope = MemoryScope::kPerCpu;
  request.memory_mib = 250;
  EXPECT_EQ(start_of(config, request).nodes.at(0).memory_mib, 1000U);
  request.memory_mib = 251;
  EXPECT_EQ(land(config, request), "-");
  request.memory_scope = MemoryScope::kPerNode;
  request.memory_mib = 0;
  EXPECT_EQ(start_of(config, request).nodes.at(0).memory_mib, 1000U);
  config.settings.is_memory_consumable = false;
  request.memory_mib = 1001;
  EXPECT_EQ(land(config, request), "-");
}

TEST(Placement, GpusTypedUntypedPerTaskPerJob) {
  EXPECT_EQ(land(typed_gpu_cluster(), tasks(1)), "n0:1/1");
  EXPECT_EQ(land(typed_gpu_cluster(), gpus_per_node(1)), "n1:1/1");
  EXPECT_EQ(land(typed_gpu_cluster(), gpus_per_node(1, "h100")), "n2:1/1");
  EXPECT_EQ(land(typed_gpu_cluster(), gpus_per_node(5, "h100")), "-");
  EXPECT_EQ(start_of(typed_gpu_cluster(), gpus_per_node(5)).nodes.at(0).gres.size(), 2U);
  ResourceRequest per_task = tasks(4);
  per_task.gres_per_task = {{"gpu", "", 1}};
  EXPECT_EQ(land(typed_gpu_cluster(), per_task), "n2:4/4");
  ResourceRequest per_job = tasks(1);
  per_job.gres_per_job = {{"gpu", "", 8}};
  EXPECT_EQ(land(typed_gpu_cluster(), per_job), "n1:1/1 n2:1/1");
  per_job.cpus_per_gpu = 2;
  per_job.gres_per_job = {{"gpu", "", 4}};
  EXPECT_EQ(land(typed_gpu_cluster(), per_job), "n2:1/8");
  ResourceRequest by_gpu = tasks(4);
  by_gpu.tasks_per_gpu = 2;
  EXPECT_EQ(land(typed_gpu_cluster(), by_gpu), "n1:4/4");
}

TEST(Placement, MemoryPerGpuIsAskedForEachOfThem) {
  ResourceRequest request = gpus_per_node(2);
  request.memory_scope = MemoryScope::kPerGpu;
  request.memory_mib = 500;
  EXPECT_EQ(start_of(typed_gpu_cluster(), request).nodes.at(0).memory_mib, 1000U);
  request.memory_mib = 501;
  EXPECT_EQ(land(typed_gpu_cluster(), request), "-");
}

TEST(Placement, FeaturesExcludedRequiredContiguous) {
  ClusterConfig config = make_cluster(equal_nodes(5, 2));
  for (const std::uint32_t i : {1U, 3U, 4U}) config.nodes[i].features = {"fast"};
  ResourceRequest request = on_nodes(2, 2);
  request.features.alternatives = {{"fast"}};
  EXPECT_EQ(land(config, request), "n1:1/1 n3:1/1");
  request.is_contiguous = true;
  EXPECT_EQ(land(config, request), "n3:1/1 n4:1/1");
  ResourceRequest named = on_nodes(2, 2);
  named.required_nodes = {"n4"};
  named.excluded_nodes = {"n0"};
  EXPECT_EQ(land(config, named), "n1:1/1 n4:1/1");
}

TEST(Placement, OvercommitNeedsOneCpuPerNode) {
  ResourceRequest request = tasks(10);
  request.is_overcommit = true;
  EXPECT_EQ(land(make_cluster(equal_nodes(1, 2)), request), "n0:10/1");
}

TEST(Satisfiable, NamesTheFieldAndTheBestNode) {
  const auto inventory = ClusterInventory::create(typed_gpu_cluster());
  const auto ask = [&](const ResourceRequest& request) {
    return check_satisfiable(*inventory, request, PartitionIndex(0), Duration::seconds(10));
  };
  EXPECT_TRUE(ask(tasks(24)).is_satisfiable());
  const Satisfiability cpus = ask(tasks(1, 9));
  EXPECT_EQ(cpus.message, "Requested node configuration is not available");
  EXPECT_EQ(cpus.detail, "cpus: 9 asked for, the best node has 8");
  EXPECT_EQ(ask(gpus_per_node(5, "h100")).detail,
            "gres gpu:h100:5: 5 asked for, the best node has 4");
  EXPECT_EQ(ask(on_nodes(4, 4)).detail, "nodes: 4 asked for, partition main has 3");
}

TEST(Satisfiable, PartitionLimitsAreToldApart) {
  ClusterConfig config = make_cluster(equal_nodes(4, 4));
  config.partitions[0].max_nodes = 2;
  config.partitions[0].max_time = Duration::minutes(1);
  const auto inventory = ClusterInventory::create(config);
  const auto ask = [&](const ResourceRequest& request, Duration limit) {
    return check_satisfiable(*inventory, request, PartitionIndex(0), limit).refusal;
  };
  EXPECT_EQ(ask(on_nodes(3, 3), Duration::seconds(1)), PendingReason::kPartitionNodeLimit);
  EXPECT_EQ(ask(tasks(1), Duration::minutes(2)), PendingReason::kPartitionTimeLimit);
  EXPECT_EQ(ask(on_nodes(5, 5), Duration::seconds(1)), PendingReason::kBadConstraints);
}

// ---- GPUs for the whole job ----

ResourceRequest gpus_in_all(std::uint32_t gpus, std::uint32_t count) {
  ResourceRequest request = tasks(count);
  request.gres_per_job = {{"gpu", "", gpus}};
  return request;
}

ClusterConfig equal_gpu_nodes_and_one_large(std::uint32_t equal) {
  std::vector<NodeConfig> nodes;
  for (std::uint32_t i = 0; i < equal; ++i)
    nodes.push_back(make_node("n" + std::to_string(i), 4, 1000, {{"gpu", "", 4, {}}}));
  nodes.push_back(make_node("large", 64, 1000, {{"gpu", "", 4, {}}}));
  return make_cluster(std::move(nodes));
}

TEST(Placement, MoreNodesNeverMakeAJobImpossible) {
  for (const std::uint32_t equal : {8U, 12U, 20U, 40U, 100U}) {
    EXPECT_EQ(start_of(equal_gpu_nodes_and_one_large(equal), gpus_in_all(20, 85)).nodes.size(), 7U)
        << equal;
  }
}

/// Whether some set of nodes has the tasks and the GPUs, one GPU of each at least: by trying all of
/// them.
bool exists(const std::vector<NodeConfig>& nodes, std::uint32_t gpus, std::uint32_t count) {
  for (std::uint32_t set = 1; set < 1U << nodes.size(); ++set) {
    std::uint32_t cpus = 0;
    std::uint32_t devices = 0;
    std::uint32_t size = 0;
    bool has_all = true;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if ((set >> i & 1U) == 0) continue;
      const std::uint32_t here = nodes[i].gres.empty() ? 0 : nodes[i].gres.front().count;
      ++size;
      cpus += nodes[i].cpus;
      devices += here;
      has_all = has_all && here > 0;
    }
    if (has_all && cpus >= count && devices >= gpus && size <= gpus) return true;
  }
  return false;
}

TEST(Placement, JobsWithGpusStartWhereverSomeSetOfNodesCarriesThem) {
  Rng rng(7);
  for (int round = 0; round < 400; ++round) {
    std::vector<NodeConfig> nodes;
    const std::uint64_t size = 2 + rng.below(7);
    for (std::uint64_t i = 0; i < size; ++i) {
      const auto devices = static_cast<std::uint32_t>(rng.below(5));
      std::vector<GresPool> pools;
      if (devices > 0) pools.push_back({"gpu", "", devices, {}});
      nodes.push_back(make_node("n" + std::to_string(i),
                                1 + static_cast<std::uint32_t>(rng.below(12)), 1000, pools));
    }
    const auto gpus = static_cast<std::uint32_t>(1 + rng.below(10));
    const auto count = static_cast<std::uint32_t>(1 + rng.below(30));
    const bool is_started = !start_of(make_cluster(nodes), gpus_in_all(gpus, count)).nodes.empty();
    EXPECT_EQ(is_started, exists(nodes, gpus, count))
        << "round " << round << ": " << gpus << " GPUs, " << count << " tasks";
  }
}

TEST(Placement, NodesWithoutGpusAreNoneOfAJobThatWantsGpus) {
  ClusterSnapshot snapshot = make_snapshot(typed_gpu_cluster());
  snapshot.advance_time(at(0));
  snapshot.add_pending(make_job(1, gpus_in_all(4, 1)));
  const Need& need = snapshot.need(snapshot.lane(snapshot.lane_of(JobId(1))).needs.front());
  EXPECT_FALSE(need.nodes().test(NodeIndex(0)));
  EXPECT_TRUE(need.nodes().test(NodeIndex(1)));
}

}  // namespace
}  // namespace muster::sched

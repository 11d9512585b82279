// Jobs whose tasks and devices pull towards different nodes: what is found, and at what cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/rng.h"
#include "sched/placement/need.h"
#include "sched/placement/node_order.h"
#include "sched/planner.h"
#include "sched/satisfiable.h"
#include "sched/testing.h"
#include "sched/timeline/timeline.h"

namespace muster::sched {
namespace {

using namespace testing;

NodeConfig gpu_node(std::uint32_t index, std::uint32_t cpus, std::uint32_t gpus) {
  return make_node(
      "n" + std::to_string(index), cpus, 1'000'000,
      gpus == 0 ? std::vector<GresPool>() : std::vector{GresPool{"gpu", "", gpus, {}}});
}
/// Half of the nodes have many GPUs and few CPUs, half the other way round.
ClusterConfig two_kinds(std::uint32_t count) {
  std::vector<NodeConfig> nodes;
  for (std::uint32_t i = 0; i < count; ++i)
    nodes.push_back(i % 2 == 0 ? gpu_node(i, 4, 8) : gpu_node(i, 64, 1));
  return make_cluster(std::move(nodes));
}
ResourceRequest gpus_and_tasks(std::uint32_t gpus, std::uint32_t count,
                               std::uint32_t max_nodes = 0) {
  ResourceRequest request = tasks(count);
  request.gres_per_job = {{"gpu", "", gpus}};
  request.max_nodes = max_nodes;
  return request;
}

struct Verdict {
  bool is_placed = false;
  Seeking how;
};
Verdict verdict_on(const ClusterInventory& inventory, const ResourceRequest& request) {
  const Demand demand =
      Demand::compile(std::make_shared<const ResourceRequest>(request), inventory);
  const Fitter fitter(inventory, demand, node_rule(inventory, request, PartitionIndex(0)));
  Verdict verdict{false, {Effort::kVerdict}};
  verdict.is_placed = place(fitter, WholeCluster(inventory),
                            node_limits(request, inventory.config.partitions[0]).limits,
                            inventory.by_weight, demand.feasible_nodes, &verdict.how)
                          .has_value();
  return verdict;
}

TEST(Devices, LargeJobsOfTwoKindsOfNodesAreSettledInBoundedSteps) {
  const auto inventory = ClusterInventory::create(two_kinds(2000));
  // With a nodes of the first kind and b of the second, 4a + 64b tasks and 8a + b GPUs: on paper, a
  // + b is 1,418 at least for the last two.
  for (const auto& [request, is_possible] :
       {std::pair(gpus_and_tasks(5000, 40'000), true),
        std::pair(gpus_and_tasks(5000, 60'000), true),
        std::pair(gpus_and_tasks(5000, 60'000, 1'400), false),
        std::pair(gpus_and_tasks(5000, 60'000, 1'420), true),
        std::pair(gpus_and_tasks(9001, 1), false), std::pair(gpus_and_tasks(1, 68'001), false)}) {
    const Verdict verdict = verdict_on(*inventory, request);
    EXPECT_EQ(verdict.is_placed, is_possible) << request.task_count << " " << request.max_nodes;
    EXPECT_FALSE(!verdict.is_placed && verdict.how.is_undecided) << "there is a proof";
    EXPECT_LT(verdict.how.cost, 50'000U);
    EXPECT_EQ(check_satisfiable(*inventory, request, PartitionIndex(0), Duration::seconds(1))
                  .is_satisfiable(),
              is_possible);
  }
}

TEST(Devices, AWaitingJobCostsAPassNoMoreThanItsBound) {
  ClusterSnapshot snapshot = make_snapshot(two_kinds(600));
  for (std::uint32_t i = 0; i < 200; ++i) {
    NodeAmount amount;
    amount.node = NodeIndex(i * 3);
    amount.cpus = 1 + i % 3;
    amount.task_count = 1;
    snapshot.start_job({JobId(1000 + i), PartitionIndex(0), {amount}, at(10 + i)});
  }
  const ResourceRequest request = gpus_and_tasks(1500, 18'600);
  const Demand demand =
      Demand::compile(std::make_shared<const ResourceRequest>(request), snapshot.inventory());
  const Fitter fitter(snapshot.inventory(), demand,
                      node_rule(snapshot.inventory(), request, PartitionIndex(0)));
  Timeline timeline(snapshot, at(0), PlanOptions());
  const std::vector<NodeIndex> order = static_order(snapshot.inventory());
  const NodeSet all = demand.feasible_nodes;
  const StartQuestion question{
      fitter, {1, UINT32_MAX}, order, all, Duration::seconds(1000), NeedIndex(0), 1};
  std::uint64_t cost = 0;
  (void)timeline.earliest_start(question);
  cost = timeline.spent();
  EXPECT_LT(cost, 1'000'000U);
  for (std::uint32_t i = 1; i <= 40; ++i)
    snapshot.add_pending(make_job(i, gpus_and_tasks(1500, 18'000 + 7 * i)));
  const Plan plan = sched::plan(snapshot, at(0), PlanOptions::conservative());
  EXPECT_LT(plan.effort, 6'000'000U) << "all of them together";
  RecordProperty("effort", std::to_string(plan.effort));
}

/// Whether some set of nodes, some number of GPUs on each and some number of tasks on each do:
/// every one is tried.
class BruteForce {
 public:
  BruteForce(const ClusterInventory& inventory, const ResourceRequest& request)
      : inventory_(inventory),
        request_(request),
        demand_(Demand::compile(std::make_shared<const ResourceRequest>(request), inventory)),
        fitter_(inventory, demand_, node_rule(inventory, request, PartitionIndex(0))) {}
  bool is_possible() { return try_from(0, 0, 0, 0); }

 private:
  bool try_from(std::uint32_t node, std::uint32_t nodes, std::uint64_t tasks, std::uint32_t gpus) {
    const std::uint32_t wanted = demand_.per_job[0].count;
    const NodeLimits limits = node_limits(request_, inventory_.config.partitions[0]).limits;
    if (node == inventory_.node_count())
      return nodes >= limits.min && nodes <= limits.max && gpus == wanted &&
             tasks >= least_task_count(request_, limits);
    if (try_from(node + 1, nodes, tasks, gpus)) return true;
    const NodeFree free = inventory_.total.at(NodeIndex(node));
    for (std::uint32_t share = fitter_.may_lack(0) ? 0 : 1;
         share <= std::min<std::uint32_t>(8, wanted - gpus); ++share) {
      Shares shares{};
      shares[0] = share;
      const std::uint32_t most = fitter_.task_capacity(NodeIndex(node), free, shares);
      if (most > 0 && try_from(node + 1, nodes + 1, tasks + most, gpus + share)) return true;
    }
    return false;
  }
  const ClusterInventory& inventory_;
  const ResourceRequest& request_;
  Demand demand_;
  Fitter fitter_;
};

TEST(Devices, SmallClustersByBruteForce) {
  const std::uint64_t seed = 20'261'124;
  Rng rng(seed);
  int possible = 0;
  for (int i = 0; i < 4'000; ++i) {
    std::vector<NodeConfig> nodes;
    for (std::uint32_t n = 0; n < 2 + rng.below(3); ++n) {
      nodes.push_back(gpu_node(n, static_cast<std::uint32_t>(4 << rng.below(3)),
                               static_cast<std::uint32_t>(rng.below(5))));
    }
    const auto inventory = ClusterInventory::create(make_cluster(std::move(nodes)));
    ResourceRequest request = gpus_and_tasks(static_cast<std::uint32_t>(1 + rng.below(10)),
                                             static_cast<std::uint32_t>(1 + rng.below(12)));
    request.cpus_per_task = static_cast<std::uint32_t>(1 + rng.below(6));
    if (rng.chance(0.4)) request.tasks_per_gpu = static_cast<std::uint32_t>(1 + rng.below(2));
    if (rng.chance(0.2)) request.cpus_per_gpu = static_cast<std::uint32_t>(1 + rng.below(5));
    if (rng.chance(0.5)) {
      request.min_nodes = static_cast<std::uint32_t>(1 + rng.below(3));
      request.max_nodes = request.min_nodes + static_cast<std::uint32_t>(rng.below(2));
    }
    if (request.tasks_per_gpu > 0 && rng.chance(0.7))
      request.task_count = request.tasks_per_gpu * request.gres_per_job[0].count;
    BruteForce oracle(*inventory, request);
    const bool is_possible = oracle.is_possible();
    possible += is_possible ? 1 : 0;
    const Verdict verdict = verdict_on(*inventory, request);
    EXPECT_EQ(verdict.is_placed, is_possible)
        << "seed " << seed << " case " << i << ": " << request.gres_per_job[0].count << " GPUs, "
        << request.task_count << " tasks of " << request.cpus_per_task << " CPUs, "
        << request.tasks_per_gpu << " per GPU, " << request.cpus_per_gpu << " CPUs per GPU, nodes "
        << request.min_nodes << ".." << request.max_nodes;
  }
  EXPECT_GT(possible, 500);
}

TEST(Devices, CpusOfGpusLeaveTheTasksEven) {
  const auto inventory =
      ClusterInventory::create(make_cluster({gpu_node(0, 32, 4), gpu_node(1, 32, 4)}));
  ResourceRequest request = on_nodes(2, 8);
  request.gres_per_node = {{"gpu", "", 4}};
  request.cpus_per_gpu = 4;
  ClusterSnapshot snapshot = make_snapshot(inventory->config);
  snapshot.add_pending(make_job(1, request));
  EXPECT_EQ(placed(plan(snapshot, at(0), PlanOptions()), 1), "n0:4/16 n1:4/16");
}

}  // namespace
}  // namespace muster::sched

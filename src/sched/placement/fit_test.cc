#include "sched/placement/fit.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/rng.h"
#include "sched/placement/select.h"
#include "sched/testing.h"

namespace muster::sched {
namespace {

using namespace testing;

constexpr NodeIndex kNode(0);
constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();

/// One demand on the first node of a cluster.
struct OneNode {
  std::shared_ptr<const ClusterInventory> inventory;
  Demand demand;
  Fitter fitter;

  OneNode(NodeConfig node, const ResourceRequest& request, NodeRule rule = {})
      : inventory(ClusterInventory::create(make_cluster({std::move(node)}))),
        demand(Demand::compile(std::make_shared<const ResourceRequest>(request), *inventory)),
        fitter(*inventory, demand, rule) {}
  NodeFree whole() const { return inventory->total.at(kNode); }
  std::uint32_t capacity(const Shares& shares = {}) const {
    return fitter.task_capacity(kNode, whole(), shares);
  }
  NodeAmount amount(std::uint32_t count, const Shares& shares = {}) const {
    return fitter.amount(kNode, whole(), count, shares);
  }
};

NodeConfig threaded(std::uint32_t cores, std::uint32_t threads, std::uint64_t memory_mib = 1000) {
  NodeConfig node = make_node("n0", cores * threads, memory_mib);
  node.cores_per_socket = cores;
  node.threads_per_core = threads;
  return node;
}
NodeConfig with_gpus(std::uint32_t cpus, std::vector<GresPool> pools) {
  return make_node("n0", cpus, 1000, std::move(pools));
}

TEST(Fit, TasksAreBoundedByCpusAndByTheJob) {
  EXPECT_EQ(OneNode(make_node("n0", 8), tasks(100)).capacity(), 8U);
  EXPECT_EQ(OneNode(make_node("n0", 8), tasks(100, 3)).capacity(), 2U);
  EXPECT_EQ(OneNode(make_node("n0", 8), tasks(5)).capacity(), 5U);
  EXPECT_EQ(OneNode(make_node("n0", 8), tasks(1, 9)).capacity(), 0U);
  ResourceRequest bounded = tasks(100);
  bounded.tasks_per_node = 3;
  EXPECT_EQ(OneNode(make_node("n0", 8), bounded).capacity(), 3U);
}

TEST(Fit, ANodeThatHoldsTooFewIsOfNoUse) {
  ResourceRequest request = on_nodes(1, 9);
  EXPECT_EQ(OneNode(make_node("n0", 8), request).capacity(), 0U) << "all must be on one node";
  request.max_nodes = 2;
  EXPECT_EQ(OneNode(make_node("n0", 8), request).capacity(), 8U);
  request.tasks_per_node = 5;  // the other takes five at most: four are left
  EXPECT_EQ(OneNode(make_node("n0", 3), request).capacity(), 0U);
  EXPECT_EQ(OneNode(make_node("n0", 4), request).capacity(), 4U);
  ResourceRequest exact = tasks(4);
  exact.tasks_per_node = 2;
  exact.is_tasks_per_node_exact = true;
  EXPECT_EQ(OneNode(make_node("n0", 1), exact).capacity(), 0U);
  EXPECT_EQ(OneNode(make_node("n0", 3), exact).capacity(), 2U);
}

TEST(Fit, OnlyWholeCoresAreTaken) {
  const OneNode fit(threaded(4, 2), tasks(3));
  EXPECT_EQ(fit.capacity(), 3U);
  EXPECT_EQ(fit.amount(3).cpus, 4U);
  EXPECT_EQ(fit.amount(2).cpus, 2U);
  EXPECT_EQ(fit.fitter.core_cpus(kNode), 2);
}

TEST(Fit, ThreadsThatAreLeftIdleAreTakenAndNotUsed) {
  ResourceRequest request = tasks(100);
  request.threads_per_core = 1;
  const OneNode fit(threaded(4, 2), request);
  EXPECT_EQ(fit.capacity(), 4U);
  EXPECT_EQ(fit.amount(3).cpus, 6U);
  EXPECT_EQ(fit.fitter.core_cpus(kNode), 1);
}

TEST(Fit, CpusOfGpusAndOfTheNodeAreALeastNumber) {
  ResourceRequest request = gpus_per_node(2);
  request.cpus_per_gpu = 3;
  const OneNode of_gpus(with_gpus(8, {{"gpu", "", 4, {}}}), request);
  EXPECT_EQ(of_gpus.amount(1).cpus, 6U);
  request.min_cpus_per_node = 7;
  const OneNode of_node(with_gpus(8, {{"gpu", "", 4, {}}}), request);
  EXPECT_EQ(of_node.amount(1).cpus, 7U);
  request.min_cpus_per_node = 9;
  EXPECT_EQ(OneNode(with_gpus(8, {{"gpu", "", 4, {}}}), request).capacity(), 0U);
}

TEST(Fit, MemoryIsCountedInTheScopeThatWasAsked) {
  const auto memory = [](MemoryScope scope, std::uint64_t mib, NodeRule rule = {}) {
    ResourceRequest request = gpus_per_node(2);
    request.cpus_per_task = 3;
    request.memory_scope = scope;
    request.memory_mib = mib;
    const OneNode fit(with_gpus(8, {{"gpu", "", 4, {}}}), request, rule);
    return fit.capacity() == 0 ? kMost : fit.amount(1).memory_mib;
  };
  EXPECT_EQ(memory(MemoryScope::kPerNode, 500), 500U);
  EXPECT_EQ(memory(MemoryScope::kPerNode, 0), 1000U) << "all of the node's";
  EXPECT_EQ(memory(MemoryScope::kPerCpu, 100), 300U);
  EXPECT_EQ(memory(MemoryScope::kPerGpu, 100), 200U);
  EXPECT_EQ(memory(MemoryScope::kPerNode, 1001), kMost);
  EXPECT_EQ(memory(MemoryScope::kPerCpu, 334), kMost);
  EXPECT_EQ(memory(MemoryScope::kPerGpu, UINT64_MAX), kMost);
  EXPECT_EQ(memory(MemoryScope::kPerCpu, 100, {true, {}}), 800U) << "of all CPUs of a whole node";
  EXPECT_EQ(memory(MemoryScope::kPerCpu, 200, {true, {}}), 1000U) << "as far as it goes";
}

TEST(Fit, AWholeNodeIsOneThatNobodyHasTouched) {
  const OneNode fit(with_gpus(8, {{"gpu", "", 4, {}}}), tasks(2), {true, {}});
  EXPECT_EQ(fit.capacity(), 2U);
  const NodeAmount whole = fit.amount(2);
  EXPECT_EQ(whole.cpus, 8U);
  EXPECT_EQ(whole.gres, (std::vector<GresCount>{{GresKindId(0), 4}}));
  FreeRow touched(fit.whole(), 1);
  touched.gres[0] = 3;
  EXPECT_EQ(fit.fitter.task_capacity(kNode, touched.view(), {}), 0U);
  touched.gres[0] = 4;
  touched.cpus = 7;
  EXPECT_EQ(fit.fitter.task_capacity(kNode, touched.view(), {}), 0U);
}

TEST(Fit, APartitionsQuotaBoundsItsCpus) {
  ClusterConfig config = make_cluster(equal_nodes(1, 8));
  config.partitions[0].max_cpus_per_node = 3;
  const auto inventory = ClusterInventory::create(config);
  const Demand demand =
      Demand::compile(std::make_shared<const ResourceRequest>(tasks(100)), *inventory);
  const Fitter fitter(*inventory, demand, {false, inventory->cpu_quota(PartitionIndex(0))});
  EXPECT_EQ(fitter.task_capacity(kNode, inventory->total.at(kNode), {}), 3U);
}

TEST(Fit, AnUntypedNeedTakesOneKindWhereOneHoldsItAll) {
  const std::vector<GresPool> pools = {{"gpu", "a100", 2, {}}, {"gpu", "h100", 4, {}}};
  const auto allocated = [&](const ResourceRequest& request) {
    return OneNode(with_gpus(8, pools), request).amount(1).gres;
  };
  EXPECT_EQ(allocated(gpus_per_node(2)), (std::vector<GresCount>{{GresKindId(0), 2}}));
  EXPECT_EQ(allocated(gpus_per_node(3)), (std::vector<GresCount>{{GresKindId(1), 3}}));
  EXPECT_EQ(allocated(gpus_per_node(5)),
            (std::vector<GresCount>{{GresKindId(0), 2}, {GresKindId(1), 3}}));
  ResourceRequest both = gpus_per_node(2);
  both.gres_per_node.push_back({"gpu", "a100", 1});
  EXPECT_EQ(allocated(both), (std::vector<GresCount>{{GresKindId(0), 1}, {GresKindId(1), 2}}))
      << "typed needs take theirs first";
}

TEST(Fit, SharesAreTheMostThatFitsBesideOneTask) {
  ResourceRequest request = tasks(1, 2);
  request.gres_per_job = {{"gpu", "", 3}};
  request.cpus_per_gpu = 4;
  const OneNode fit(with_gpus(8, {{"gpu", "", 4, {}}}), request);
  EXPECT_EQ(fit.fitter.share_capacity(kNode, fit.whole())[0], 2U) << "eight CPUs are two GPUs'";
  request.cpus_per_gpu = 1;
  const OneNode more(with_gpus(8, {{"gpu", "", 4, {}}}), request);
  EXPECT_EQ(more.fitter.share_capacity(kNode, more.whole())[0], 3U) << "as many as are wanted";
}

TEST(Fit, SharesOfSeveralKindsHaveTheirPartOfTheCpus) {
  ResourceRequest request = on_nodes(1, 2);
  request.gres_per_job = {{"gpu", "a", 4}, {"gpu", "b", 4}};
  request.cpus_per_gpu = 1;
  const std::vector<GresPool> pools = {{"gpu", "a", 4, {}}, {"gpu", "b", 4, {}}};
  const auto shares = [&](std::uint32_t cpus) {
    const OneNode fit(with_gpus(cpus, pools), request);
    const Shares found = fit.fitter.share_capacity(kNode, fit.whole());
    return std::pair(found[0], found[1]);
  };
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  EXPECT_EQ(shares(4), Pair(2, 2)) << "the first leaves half of the CPUs";
  EXPECT_EQ(shares(8), Pair(4, 4));
  request.gres_per_job[1].count = 12;
  EXPECT_EQ(shares(4), Pair(1, 3)) << "as the job wants three of one for each of the other";
}

TEST(Fit, ANodeMayLackWhatIsForFewerNodesThanTheJobHas) {
  ResourceRequest request = on_nodes(3, 3);
  request.gres_per_job = {{"gpu", "", 2}};
  const OneNode fit(with_gpus(8, {{"gpu", "", 4, {}}}), request);
  EXPECT_TRUE(fit.fitter.may_lack(0));
  request.gres_per_job[0].count = 3;
  EXPECT_FALSE(OneNode(with_gpus(8, {{"gpu", "", 4, {}}}), request).fitter.may_lack(0));
}

TEST(Fit, NumbersAtTheirEndsFitNowhere) {
  for (const auto part : {&ResourceRequest::cpus_per_task, &ResourceRequest::cpus_per_gpu,
                          &ResourceRequest::min_cpus_per_node}) {
    ResourceRequest request = gpus_per_node(1);
    request.*part = kMost;
    EXPECT_EQ(OneNode(with_gpus(8, {{"gpu", "", 4, {}}}), request).capacity(), 0U);
    request.gres_per_node[0].count = kMost;
    EXPECT_EQ(OneNode(with_gpus(8, {{"gpu", "", 4, {}}}), request).capacity(), 0U);
  }
  ResourceRequest request = tasks(kMost);
  request.tasks_per_gpu = kMost;
  request.gres_per_node = {{"gpu", "", kMost}};
  EXPECT_EQ(OneNode(with_gpus(8, {{"gpu", "", 4, {}}}), request).capacity(), 0U);
}

ResourceRequest random_request(Rng& rng) {
  const auto upto = [&](std::uint64_t most) {
    return static_cast<std::uint32_t>(rng.below(most + 1));
  };
  ResourceRequest request = tasks(1 + upto(9), 1 + upto(3));
  request.tasks_per_node = rng.chance(0.3) ? 1 + upto(4) : 0;
  request.min_cpus_per_node = rng.chance(0.2) ? upto(8) : 0;
  request.cpus_per_gpu = rng.chance(0.2) ? upto(3) : 0;
  request.memory_scope = static_cast<MemoryScope>(upto(3));
  request.memory_mib = upto(400);
  if (rng.chance(0.4)) request.gres_per_node = {{"gpu", rng.chance(0.5) ? "" : "h100", upto(3)}};
  if (rng.chance(0.3)) request.gres_per_task = {{"gpu", rng.chance(0.5) ? "" : "a100", upto(2)}};
  return request;
}

/// What is answered is what trying each number of tasks finds, and what is then taken is there.
TEST(Fit, TheCapacityIsTheMostTasksThatCanBeTaken) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    NodeConfig node = threaded(static_cast<std::uint32_t>(1 + rng.below(8)),
                               static_cast<std::uint32_t>(1 + rng.below(2)));
    node.gres = {{"gpu", "a100", static_cast<std::uint32_t>(rng.below(4)), {}},
                 {"gpu", "h100", static_cast<std::uint32_t>(rng.below(4)), {}}};
    const ResourceRequest request = random_request(rng);
    const OneNode fit(node, request);
    FreeRow free(fit.whole(), 2);
    free.cpus -= std::min<std::int64_t>(free.cpus, rng.between(0, 4) * node.threads_per_core);
    free.memory_mib -= rng.between(0, 500);
    const std::uint32_t capacity = fit.fitter.task_capacity(kNode, free.view(), {});
    EXPECT_LE(capacity, request.task_count);
    for (std::uint32_t count = 1; count <= capacity; ++count) {
      const NodeAmount taken = fit.fitter.amount(kNode, free.view(), count, {});
      ASSERT_TRUE(free.holds(taken)) << count;
      ASSERT_GE(taken.cpus, count * request.cpus_per_task);
      ASSERT_EQ(taken.cpus % fit.inventory->nodes[0].core_unit, 0U);
    }
    FreeRow less = free;
    less.cpus -= node.threads_per_core;
    EXPECT_LE(fit.fitter.task_capacity(kNode, less.view(), {}), capacity) << "monotone";
    less = free;
    --less.gres[rng.below(2)];
    EXPECT_LE(fit.fitter.task_capacity(kNode, less.view(), {}), capacity) << "monotone";
  }
}

}  // namespace
}  // namespace muster::sched

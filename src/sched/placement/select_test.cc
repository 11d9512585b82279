#include "sched/placement/select.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "sched/testing.h"

namespace muster::sched {
namespace {

using namespace testing;

/// A demand on a cluster of which some is taken.
struct Asked {
  std::shared_ptr<const ClusterInventory> inventory;
  Demand demand;
  Fitter fitter;
  FreeTable free;
  NodeSet allowed;

  Asked(ClusterConfig config, const ResourceRequest& request)
      : inventory(ClusterInventory::create(std::move(config))),
        demand(Demand::compile(std::make_shared<const ResourceRequest>(request), *inventory)),
        fitter(*inventory, demand, {}),
        free(inventory->total),
        allowed(inventory->all) {}
  std::optional<std::vector<NodeAmount>> place(NodeLimits limits) const {
    return sched::place(fitter, TableAvailability(free), limits, inventory->by_weight, allowed);
  }
  std::string placed(NodeLimits limits) const {
    const auto nodes = place(limits);
    return nodes ? text(*nodes) : "-";
  }
  std::string widest(NodeLimits limits) const {
    const auto nodes =
        place_widest(fitter, TableAvailability(free), limits, inventory->by_weight, allowed);
    return nodes ? text(*nodes) : "-";
  }
};

TEST(Select, TheLeastNumberOfTasksFollowsFromWhatWasAsked) {
  EXPECT_EQ(least_task_count(tasks(5), {2, 9}), 5U);
  EXPECT_EQ(least_task_count(tasks(1), {3, 9}), 3U) << "one on each node at least";
  ResourceRequest exact = tasks(1);
  exact.is_tasks_per_node_exact = true;
  exact.tasks_per_node = 4;
  EXPECT_EQ(least_task_count(exact, {3, 9}), 12U);
  exact.tasks_per_node = 65536;
  EXPECT_EQ(least_task_count(exact, {65536, 70000}), UINT32_MAX) << "and not one";
}

TEST(Select, ANodeIsACandidateWithWhatFitsThere) {
  ResourceRequest request = tasks(9, 2);
  request.gres_per_job = {{"gpu", "", 3}};
  const Asked asked(make_cluster({make_node("n0", 8, 1000, {{"gpu", "", 2, {}}}),
                                  make_node("n1", 8), make_node("n2", 1)}),
                    request);
  const auto candidate = candidate_at(asked.fitter, NodeIndex(0), asked.free.at(NodeIndex(0)));
  ASSERT_TRUE(candidate.has_value());
  EXPECT_EQ(candidate->tasks, 4U);
  EXPECT_EQ(candidate->shares[0], 2U);
  EXPECT_FALSE(candidate_at(asked.fitter, NodeIndex(1), asked.free.at(NodeIndex(1)))) << "no GPU";
  EXPECT_FALSE(candidate_at(asked.fitter, NodeIndex(2), asked.free.at(NodeIndex(2)))) << "no CPU";
}

TEST(Select, TheFewestNodesThatSuffice) {
  const Asked asked(make_cluster({make_node("n0", 2), make_node("n1", 4), make_node("n2", 8)}),
                    tasks(8));
  EXPECT_EQ(asked.placed({1, 3}), "n2:8/8");
  EXPECT_EQ(asked.placed({2, 3}), "n0:2/2 n2:6/6") << "the first pair that suffices";
  EXPECT_EQ(asked.placed({3, 3}).substr(0, 2), "n0");
  EXPECT_EQ(asked.placed({4, 4}), "-");
}

TEST(Select, OnlyAllowedNodesAreTaken) {
  Asked asked(make_cluster(equal_nodes(3, 4)), tasks(4));
  asked.allowed.reset(NodeIndex(0));
  EXPECT_EQ(asked.placed({1, 1}), "n1:4/4");
  asked.allowed = NodeSet(3);
  EXPECT_EQ(asked.placed({1, 3}), "-");
}

TEST(Select, RequiredNodesAreIn) {
  ResourceRequest request = tasks(4);
  request.required_nodes = {"n2"};
  Asked asked(make_cluster(equal_nodes(3, 4)), request);
  EXPECT_EQ(asked.placed({1, 1}), "n2:4/4");
  EXPECT_NE(asked.placed({2, 2}).find("n2:"), std::string::npos);
  asked.free.cpus(NodeIndex(2)) = 0;
  EXPECT_EQ(asked.placed({1, 3}), "-");
}

TEST(Select, ContiguousNodesHaveNoGapBetweenThem) {
  ResourceRequest request = on_nodes(2, 2, 4);
  request.is_contiguous = true;
  Asked asked(make_cluster(equal_nodes(4, 4)), request);
  asked.free.cpus(NodeIndex(1)) = 0;
  EXPECT_EQ(asked.placed({2, 2}), "n2:1/4 n3:1/4");
  asked.free.cpus(NodeIndex(3)) = 0;
  EXPECT_EQ(asked.placed({2, 2}), "-");
}

TEST(Select, ARangeOfNodesIsTakenAsWideAsItGoesWhenTheJobStarts) {
  ResourceRequest request = tasks(6);
  request.min_nodes = 1;
  request.max_nodes = 3;
  Asked asked(make_cluster(equal_nodes(3, 8)), request);
  EXPECT_EQ(asked.placed({1, 3}), "n0:6/6");
  EXPECT_EQ(asked.widest({1, 3}).substr(0, 2), "n0");
  EXPECT_NE(asked.widest({1, 3}).find("n2:"), std::string::npos) << asked.widest({1, 3});
}

TEST(Select, NodesThatTakeNothingAreNoted) {
  Asked asked(make_cluster(equal_nodes(3, 4)), tasks(9));
  asked.free.cpus(NodeIndex(1)) = 0;
  std::vector<NodeIndex> dead;
  Seeking how{Effort::kFull, &dead};
  EXPECT_FALSE(place(asked.fitter, TableAvailability(asked.free), {1, 3},
                     asked.inventory->by_weight, asked.allowed, &how));
  EXPECT_EQ(dead, std::vector{NodeIndex(1)});
  EXPECT_FALSE(how.is_undecided) << "without devices it is settled exactly";
}

/// The fewest nodes that some subset of them would need, by trying all subsets.
std::optional<std::uint32_t> fewest_by_trying(const Asked& asked, NodeLimits limits) {
  const std::size_t count = asked.inventory->node_count();
  std::optional<std::uint32_t> fewest;
  for (std::uint32_t mask = 1; mask < 1U << count; ++mask) {
    const auto nodes = static_cast<std::uint32_t>(std::popcount(mask));
    if (nodes < limits.min || nodes > limits.max) continue;
    std::uint64_t capacity = 0;
    bool is_each = true;
    for (std::uint32_t i = 0; i < count; ++i) {
      if ((mask >> i & 1U) == 0) continue;
      const auto one = asked.fitter.task_capacity(NodeIndex(i), asked.free.at(NodeIndex(i)), {});
      is_each = is_each && one > 0;
      capacity += one;
    }
    if (is_each && capacity >= least_task_count(*asked.demand.request, limits) &&
        (!fewest || nodes < *fewest))
      fewest = nodes;
  }
  return fewest;
}

TEST(Select, AgreesWithTryingEverySetOfNodes) {
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    std::vector<NodeConfig> nodes;
    for (std::uint32_t i = 0; i < 6; ++i)
      nodes.push_back(
          make_node("n" + std::to_string(i), static_cast<std::uint32_t>(1 + rng.below(8))));
    ResourceRequest request = tasks(static_cast<std::uint32_t>(1 + rng.below(20)),
                                    static_cast<std::uint32_t>(1 + rng.below(3)));
    if (rng.chance(0.4)) request.tasks_per_node = static_cast<std::uint32_t>(1 + rng.below(4));
    const auto min = static_cast<std::uint32_t>(1 + rng.below(3));
    const NodeLimits limits{min, static_cast<std::uint32_t>(min + rng.below(4))};
    request.min_nodes = limits.min;
    request.max_nodes = limits.max;
    Asked asked(make_cluster(nodes), request);
    for (std::uint32_t i = 0; i < 6; ++i) {
      if (rng.chance(0.3)) asked.free.cpus(NodeIndex(i)) -= static_cast<std::int32_t>(rng.below(3));
    }
    const auto found = asked.place(limits);
    const auto fewest = fewest_by_trying(asked, limits);
    ASSERT_EQ(found.has_value(), fewest.has_value());
    if (!found) continue;
    EXPECT_EQ(found->size(), *fewest);
    std::uint32_t task_count = 0;
    for (const NodeAmount& amount : *found) {
      EXPECT_TRUE(asked.free.holds(amount));
      EXPECT_GE(amount.task_count, 1U);
      task_count += amount.task_count;
    }
    EXPECT_EQ(task_count, least_task_count(request, limits));
    // Room that goes away on another node changes nothing.
    Asked less = asked;
    for (std::uint32_t i = 0; i < 6; ++i) {
      if (std::ranges::find(*found, NodeIndex(i), &NodeAmount::node) == found->end() &&
          rng.chance(0.5))
        less.free.cpus(NodeIndex(i)) = 0;
    }
    EXPECT_EQ(sched::place(asked.fitter, TableAvailability(less.free), limits,
                           asked.inventory->by_weight, asked.allowed),
              found);
  }
}

}  // namespace
}  // namespace muster::sched

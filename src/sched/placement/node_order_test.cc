#include "sched/placement/node_order.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "sched/testing.h"

namespace muster::sched {
namespace {

using namespace testing;

std::vector<std::uint32_t> values(const std::vector<NodeIndex>& nodes) {
  std::vector<std::uint32_t> result;
  for (const NodeIndex node : nodes) result.push_back(node.value());
  return result;
}

TEST(NodeOrder, JobsLandWhereTheyLeaveTheLeast) {
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

TEST(NodeOrder, AnOrderThatIsBroughtUpToDateIsTheNewOne) {
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

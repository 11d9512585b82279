#include "sched/placement/node_set.h"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"

namespace muster::sched {
namespace {

NodeSet set_of(std::size_t size, const std::set<std::uint32_t>& members) {
  NodeSet result(size);
  for (const std::uint32_t member : members) result.set(NodeIndex(member));
  return result;
}
std::set<std::uint32_t> members_of(const NodeSet& set) {
  std::set<std::uint32_t> result;
  set.for_each([&](NodeIndex node) { result.insert(node.value()); });
  return result;
}

TEST(NodeSet, HoldsTheLastNodeOfEveryWidth) {
  for (const std::size_t size : {1U, 63U, 64U, 65U, 128U, 1000U}) {
    NodeSet set(size);
    EXPECT_TRUE(set.empty());
    const NodeIndex last(static_cast<std::uint32_t>(size - 1));
    set.set(last);
    EXPECT_TRUE(set.test(last)) << size;
    EXPECT_EQ(set.count(), 1U);
    EXPECT_EQ(set.first(9), std::vector{last});
    set.reset(last);
    EXPECT_EQ(set, NodeSet(size));
  }
}

TEST(NodeSet, ASetOfNoNodesIsEmptyAndWithinItself) {
  const NodeSet none(0);
  EXPECT_TRUE(none.empty());
  EXPECT_TRUE(none.contains(none));
  EXPECT_FALSE(none.intersects(none));
  EXPECT_EQ(none.first_outside(none), std::nullopt);
}

TEST(NodeSet, PutSetsAndTakesOut) {
  NodeSet set(3);
  set.put(NodeIndex(1), true);
  EXPECT_TRUE(set.test(NodeIndex(1)));
  set.put(NodeIndex(1), false);
  EXPECT_FALSE(set.test(NodeIndex(1)));
}

TEST(NodeSet, TheFirstAreTheLowest) {
  const NodeSet set = set_of(200, {3, 64, 65, 199});
  EXPECT_EQ(set.first(0).size(), 0U);
  EXPECT_EQ(set.first(2), (std::vector{NodeIndex(3), NodeIndex(64)}));
  EXPECT_EQ(set.first(100).size(), 4U);
}

TEST(NodeSet, DoesWhatASetOfNumbersDoes) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const std::size_t size = 1 + rng.below(200);
    std::set<std::uint32_t> a;
    std::set<std::uint32_t> b;
    for (std::uint64_t i = rng.below(30); i > 0; --i)
      a.insert(static_cast<std::uint32_t>(rng.below(size)));
    for (std::uint64_t i = rng.below(30); i > 0; --i)
      b.insert(static_cast<std::uint32_t>(rng.below(size)));
    std::set<std::uint32_t> both;
    std::set<std::uint32_t> only_a;
    for (const std::uint32_t one : a) (b.contains(one) ? both : only_a).insert(one);
    const NodeSet x = set_of(size, a);
    const NodeSet y = set_of(size, b);
    EXPECT_EQ(members_of(x & y), both);
    EXPECT_EQ(members_of(x - y), only_a);
    NodeSet all = x;
    all |= y;
    EXPECT_EQ(all.count(), a.size() + b.size() - both.size());
    EXPECT_EQ(x.intersects(y), !both.empty());
    EXPECT_EQ(x.contains(y), both == b);
    EXPECT_EQ(x.first_outside(y),
              only_a.empty() ? std::nullopt : std::optional(NodeIndex(*only_a.begin())));
  }
}

}  // namespace
}  // namespace muster::sched

#include "base/small_list.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using List = SmallList<std::uint32_t>;

TEST(SmallList, HoldsFewAndMany) {
  for (const std::size_t count : {0U, 1U, 2U, 3U, 50U}) {
    std::vector<std::uint32_t> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint32_t>(7 * i + 1);
    const List list(values);
    EXPECT_EQ(list.to_vector(), values);
    EXPECT_EQ(list.size(), count);
    EXPECT_EQ(list.empty(), count == 0);
  }
}

TEST(SmallList, CopiesAndMovesKeepTheValues) {
  for (const List& original : {List{1, 2}, List{1, 2, 3, 4}}) {
    List copy = original;
    List moved = std::move(copy);
    EXPECT_EQ(moved, original);
    List assigned{9, 9, 9};
    assigned = moved;
    EXPECT_EQ(assigned, original);
    EXPECT_EQ(assigned.front(), 1U);
    assigned = List{};
    EXPECT_TRUE(assigned.empty());
    EXPECT_EQ(moved, original);
  }
}

TEST(SmallList, GrowsOneByOneOverTheEdgeOfWhatLiesInside) {
  List list;
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < 10; ++i) {
    list.push_back(i * i);
    expected.push_back(i * i);
    EXPECT_EQ(list.to_vector(), expected);
    EXPECT_EQ(list[i], i * i);
  }
  list.clear();
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list, List());
}

TEST(SmallList, AssignsToItself) {
  for (List list : {List{1}, List{1, 2, 3}}) {
    const List before = list;
    List& same = list;
    list = same;
    EXPECT_EQ(list, before);
    list = std::move(same);
    EXPECT_EQ(list, before);
  }
}

TEST(SmallList, IsComparedByItsValues) {
  EXPECT_EQ((List{1, 2, 3}), List(std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_NE((List{1, 2}), (List{2, 1}));
  EXPECT_NE((List{1, 2}), (List{1, 2, 3}));
}

TEST(SmallListDeathTest, AnEmptyListHasNoFirst) { EXPECT_DEATH(List().front(), "size_ > 0"); }

}  // namespace
}  // namespace muster

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

}  // namespace
}  // namespace muster

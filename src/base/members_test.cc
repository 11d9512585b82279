#include "base/members.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace muster {
namespace {

struct None {};
struct One {
  int a = 1;
};
struct Three {
  int a = 1;
  std::string b = "two";
  std::vector<int> c = {3};
};
struct Inner {
  Three inside;
  One other;
};
// As many as the largest struct may have, and the sizes about which the macros change their form.
struct Ten {
  int a, b, c, d, e, f, g, h, i, j;
};
struct Eleven {
  Ten first;
  int a, b, c, d, e, f, g, h, i, j;
};
struct Most {
  char a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1, c2,
      c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, e0, e1, e2, e3, e4, e5,
      e6, e7, e8, e9, f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, g0, g1, g2, g3, g4, g5, g6, g7;
};

TEST(Members, AreCounted) {
  static_assert(member_count<None>() == 0);
  static_assert(member_count<One>() == 1);
  static_assert(member_count<Three>() == 3);
  static_assert(member_count<Inner>() == 2, "a struct within is one member");
  static_assert(member_count<Ten>() == 10);
  static_assert(member_count<Eleven>() == 11);
  static_assert(member_count<Most>() == 68);
  EXPECT_EQ(std::tuple_size_v<decltype(members_of(std::declval<None&>()))>, 0U);
}

TEST(Members, AreReferencesInTheOrderOfTheirDeclaration) {
  Three value;
  auto members = members_of(value);
  EXPECT_EQ(&std::get<0>(members), &value.a);
  EXPECT_EQ(&std::get<1>(members), &value.b);
  EXPECT_EQ(&std::get<2>(members), &value.c);
  std::get<1>(members) = "changed";
  EXPECT_EQ(value.b, "changed");
  const Three constant;
  static_assert(
      std::is_same_v<decltype(members_of(constant)),
                     std::tuple<const int&, const std::string&, const std::vector<int>&>>);
}

TEST(Members, NoneOfTheMostIsLeftOut) {
  Most value{};
  int next = 0;
  std::apply([&](auto&... member) { ((member = static_cast<char>(++next)), ...); },
             members_of(value));
  EXPECT_EQ(next, 68);
  EXPECT_EQ(value.a0, 1);
  EXPECT_EQ(value.a9, 10);
  EXPECT_EQ(value.b0, 11);
  EXPECT_EQ(value.f9, 60);
  EXPECT_EQ(value.g7, 68);
}

struct Owner {
  int number = 0;
  std::unique_ptr<Three> owned;
  std::shared_ptr<int> shared;
  std::unique_ptr<int> absent;
};

TEST(Members, ACopyOwnsWhatTheOriginalOwnsOnceMore) {
  Owner original;
  original.number = 7;
  original.owned = std::make_unique<Three>();
  original.shared = std::make_shared<int>(5);
  const Owner copy = copy_of_members(original);
  EXPECT_EQ(copy.number, 7);
  ASSERT_NE(copy.owned, nullptr);
  EXPECT_NE(copy.owned, original.owned);
  EXPECT_EQ(copy.owned->b, "two");
  EXPECT_EQ(copy.shared, original.shared) << "what is shared stays shared";
  EXPECT_EQ(copy.absent, nullptr);
  original.owned->b = "changed";
  EXPECT_EQ(copy.owned->b, "two");
}

TEST(Members, KindsAreToldApart) {
  static_assert(is_vector<std::vector<int>> && is_vector<std::deque<int>>);
  static_assert(!is_vector<std::string> && !is_vector<SmallList<std::uint32_t>>);
  static_assert(is_small_list<SmallList<std::uint32_t>>);
  static_assert(is_optional<std::optional<int>> && !is_optional<int*>);
  static_assert(is_pointer<std::unique_ptr<int>> && is_pointer<std::shared_ptr<const int>>);
  static_assert(!is_pointer<int*>);
  static_assert(is_pair<std::pair<int, char>> && !is_pair<std::tuple<int, char>>);
  static_assert(is_id<Id<struct SomeTag>> && !is_id<std::uint32_t>);
  static_assert(is_variant<std::variant<int, char>> && !is_variant<int>);
  std::variant<int, std::string> value = "text";
  EXPECT_EQ(visit_variant([]<class T>(const T&) { return sizeof(T); }, value), sizeof(std::string));
}

}  // namespace
}  // namespace muster

#include "base/variant.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/variant_members.h"

namespace muster {

struct NumberKind {
  int value = 7;
};
struct TextKind {
  std::string value;
};
struct SharedKind {
  std::shared_ptr<int> value;
};
struct TestKinds : TypeList<NumberKind, TextKind, SharedKind> {};
template class Variant<TestKinds>;
using TestVariant = Variant<TestKinds>;

namespace {

TEST(Variant, HoldsTheFirstTypeToBeginWith) {
  const TestVariant value;
  EXPECT_EQ(value.index(), 0U);
  EXPECT_EQ(get<NumberKind>(value).value, 7);
}

TEST(Variant, HoldsWhatItWasMadeOf) {
  const TestVariant value = TextKind{"a text too long to stand within the string itself"};
  EXPECT_EQ(value.index(), 1U);
  EXPECT_TRUE(holds_alternative<TextKind>(value));
  EXPECT_EQ(get_if<NumberKind>(&value), nullptr);
  EXPECT_EQ(get_if<TextKind>(&value)->value, "a text too long to stand within the string itself");
}

TEST(Variant, CopiesAreValuesOfTheirOwn) {
  TestVariant value = TextKind{"first"};
  const TestVariant copy = value;
  get<TextKind>(value).value = "second";
  EXPECT_EQ(get<TextKind>(copy).value, "first");
}

TEST(Variant, MovesLeaveTheTypeBehind) {
  TestVariant value = TextKind{"a text too long to stand within the string itself"};
  const TestVariant moved = std::move(value);
  EXPECT_EQ(get<TextKind>(moved).value, "a text too long to stand within the string itself");
  EXPECT_TRUE(
      holds_alternative<TextKind>(value));  // NOLINT(bugprone-use-after-move): what is promised
}

TEST(Variant, AssignmentEndsWhatWasHeld) {
  const auto shared = std::make_shared<int>(1);
  {
    TestVariant value = SharedKind{shared};
    EXPECT_EQ(shared.use_count(), 2);
    value = NumberKind{3};
    EXPECT_EQ(shared.use_count(), 1);
    const TestVariant other = SharedKind{shared};
    value = other;
    EXPECT_EQ(shared.use_count(), 3);
    TestVariant& same = value;
    value = std::move(same);
    EXPECT_EQ(get<SharedKind>(value).value, shared);
  }
  EXPECT_EQ(shared.use_count(), 1);
}

TEST(Variant, VisitsTheTypeThatIsHeld) {
  struct Name {
    std::string operator()(const NumberKind& kind) const { return std::to_string(kind.value); }
    std::string operator()(const TextKind& kind) const { return kind.value; }
    std::string operator()(const SharedKind&) const { return "shared"; }
  };
  std::string names;
  for (const TestVariant& value :
       std::vector<TestVariant>{NumberKind{1}, TextKind{"two"}, SharedKind{}})
    names += visit(Name{}, value) + " ";
  EXPECT_EQ(names, "1 two shared ");
}

TEST(Variant, AVisitorMayChangeWhatIsHeld) {
  TestVariant value = TextKind{"a"};
  visit(
      [](auto& kind) {
        if constexpr (requires { kind.value += "b"; }) kind.value += "b";
      },
      value);
  EXPECT_EQ(get<TextKind>(value).value, "ab");
}

TEST(VariantDeathTest, AnotherTypeThanTheOneThatIsHeldIsABug) {
  const TestVariant value = NumberKind{};
  EXPECT_DEATH(get<TextKind>(value), "a value of kind 0 is read as one of kind 1");
}

}  // namespace
}  // namespace muster

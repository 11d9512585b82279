#include "base/shared.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

using Text = Shared<std::string>;

TEST(Shared, OneThatWasNotGivenIsFreshAndTakesNoRoom) {
  const Text none;
  EXPECT_EQ(*none, "");
  EXPECT_TRUE(none->empty());
  EXPECT_EQ(none.object(), nullptr);
  EXPECT_EQ(none, Text(std::string()));
}

TEST(Shared, CopiesAreOne) {
  const Text text(std::string("gpu"));
  const Text copy = text;  // NOLINT(performance-*): the copy is what is tested
  EXPECT_TRUE(copy.is_one_with(text));
  EXPECT_EQ(&*copy, &*text);
  const Text equal(std::string("gpu"));
  EXPECT_FALSE(equal.is_one_with(text));
  EXPECT_EQ(equal, text);
  EXPECT_NE(Text(std::string("nic")), text);
  EXPECT_TRUE(Text::of(text.object()).is_one_with(text));
}

TEST(Shared, AnEditReachesNoCopy) {
  Text text(std::string("gpu"));
  const Text copy = text;
  text.edit()->append(":4");
  EXPECT_EQ(*text, "gpu:4");
  EXPECT_EQ(*copy, "gpu");
  {
    auto edit = text.edit();
    *edit = "nic";
    edit->append(":1");
    EXPECT_EQ(*text, "gpu:4") << "it is put in its place when the edit ends";
  }
  EXPECT_EQ(*text, "nic:1");
}

TEST(SharedDeath, TwoEditsAtATimeWouldLoseOne) {
  Text text(std::string("gpu"));
  EXPECT_DEATH(
      {
        auto first = text.edit();
        text.edit()->append(":4");
      },
      "two changes of one value at a time");
}

}  // namespace
}  // namespace muster

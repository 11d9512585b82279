#include "model/json.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Json, AValueIsOfTheTypeThatItWasMadeOf) {
  EXPECT_TRUE(Json().is_null());
  EXPECT_EQ(*Json(true).boolean(), true);
  EXPECT_EQ(*Json(7U).whole(), 7);
  EXPECT_EQ(*Json(std::int8_t{-7}).whole(), -7);
  EXPECT_EQ(*Json("text").text(), "text");
  EXPECT_EQ(Json(true).whole(), nullptr) << "a boolean is no number";
  EXPECT_EQ(Json("1").number(), std::nullopt);
  EXPECT_EQ(Json(Json::Array{1, "x"}).array()->size(), 2U);
  EXPECT_EQ(Json(Json::Object{{"a", 1}}).array(), nullptr);
}

TEST(Json, WholeNumbersAndNumbersDiffer) {
  EXPECT_NE(Json(1), Json(1.0));
  EXPECT_EQ(Json(1).number(), 1.0);
  EXPECT_EQ(Json(1.0).number(), 1.0);
  EXPECT_EQ(Json(1.0).whole(), nullptr);
  EXPECT_NE(Json(0), Json(false));
  EXPECT_NE(Json(), Json(0));
}

TEST(Json, TheOrderOfMembersCounts) {
  EXPECT_NE(Json(Json::Object{{"a", 1}, {"b", 2}}), Json(Json::Object{{"b", 2}, {"a", 1}}));
}

TEST(Json, MembersAreFoundByNameAndByPath) {
  const Json value(Json::Object{{"a", Json(Json::Object{{"b", 3}})}, {"", 4}});
  EXPECT_EQ(*value.find("a")->find("b"), Json(3));
  EXPECT_EQ(*value.find(""), Json(4));
  EXPECT_EQ(value.find("b"), nullptr);
  EXPECT_EQ(Json(3).find("a"), nullptr) << "no object";
  const std::vector<std::string> path{"a", "b"};
  EXPECT_EQ(*value.find(path), Json(3));
  EXPECT_EQ(value.find(std::vector<std::string>{"a", "b", "c"}), nullptr);
  EXPECT_EQ(value.find(std::vector<std::string>{}), &value) << "an empty path is the value";
}

TEST(Json, AMemberIsMadeWhereItIsMissing) {
  Json value;
  value.member("a") = 1;
  value.member("b");
  value.member("a") = 2;
  EXPECT_EQ(value, Json(Json::Object{{"a", 2}, {"b", Json()}}));
  value.at(std::vector<std::string>{"a", "x", "y"}) = true;
  EXPECT_EQ(*value.find("a"), Json(Json::Object{{"x", Json(Json::Object{{"y", true}})}}))
      << "what is no object becomes one";
}

}  // namespace
}  // namespace muster

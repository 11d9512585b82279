#include "text/json_text.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/rng.h"
#include "text/yaml_text.h"

namespace muster {
namespace {

TEST(JsonText, WritesEveryKindOfValue) {
  EXPECT_EQ(json_text(Json()), "null");
  EXPECT_EQ(json_text(true), "true");
  EXPECT_EQ(json_text(-3), "-3");
  EXPECT_EQ(json_text(1.0), "1.0");
  EXPECT_EQ(json_text(1e300), "1e+300");
  EXPECT_EQ(json_text(0.1), "0.1");
  EXPECT_EQ(json_text("a\"b\\\n\x01\x7f"), R"("a\"b\\\n\u0001\u007f")");
  EXPECT_EQ(json_text(Json(Json::Array{Json(Json::Array{}), 1, Json(Json::Object{})})),
            "[[], 1, {}]");
  EXPECT_EQ(json_text(Json(Json::Object{{"a", 1}, {"b", Json(Json::Object{{"c", "d"}})}})),
            R"({"a": 1, "b": {"c": "d"}})");
}

TEST(JsonText, HasWordsForWhatJsonHasNoNumbersFor) {
  EXPECT_EQ(json_text(std::numeric_limits<double>::quiet_NaN()), "\"NaN\"");
  EXPECT_EQ(json_text(std::numeric_limits<double>::infinity()), "\"Infinity\"");
  EXPECT_EQ(json_text(-std::numeric_limits<double>::infinity()), "\"-Infinity\"");
}

Json random_value(Rng& rng, int depth) {
  switch (rng.below(depth > 3 ? 5 : 7)) {
    case 0: return Json();
    case 1: return rng.chance(0.5);
    case 2: return static_cast<std::int64_t>(rng.next());
    case 3: return static_cast<double>(static_cast<std::int64_t>(rng.next())) * 1e-7;
    case 4: {
      std::string text;
      for (std::uint64_t i = rng.below(12); i > 0; --i)
        text += static_cast<char>(1 + rng.below(127));
      return text + (rng.chance(0.3) ? "ü€😀" : "");
    }
    case 5: {
      Json::Array items;
      for (std::uint64_t i = rng.below(4); i > 0; --i)
        items.push_back(random_value(rng, depth + 1));
      return items;
    }
    default: {
      Json::Object members;
      for (std::uint64_t i = rng.below(4); i > 0; --i)
        members.push_back({"m" + std::to_string(i), random_value(rng, depth + 1)});
      return members;
    }
  }
}

TEST(JsonText, WhatIsWrittenIsReadBack) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Rng rng(seed);
    const Json value = random_value(rng, 0);
    const auto back = parse_yaml(json_text(value));
    ASSERT_TRUE(back.has_value()) << "seed " << seed << ": " << json_text(value) << ": "
                                  << back.error().text();
    ASSERT_EQ(back->root, value) << "seed " << seed << ": " << json_text(value);
  }
}

TEST(JsonText, WhatIsNoUtf8BecomesTheReplacementCharacter) {
  EXPECT_EQ(json_text(Json("bad\xff")), "\"bad\xef\xbf\xbd\"");
  EXPECT_EQ(json_text(Json("\xc3\xbc")), "\"\xc3\xbc\"");
}

TEST(JsonText, QuotesAText) {
  EXPECT_EQ(json_quoted(""), "\"\"");
  EXPECT_EQ(json_quoted("C:\\a \"b\""), R"("C:\\a \"b\"")");
  EXPECT_EQ(json_quoted(std::string_view("\r\t\0", 3)), R"("\r\t\u0000")");
}

TEST(JsonText, NamesAreEscapedAsValuesAre) {
  EXPECT_EQ(json_text(Json(Json::Object{{"a\n\"", 1}, {"", Json()}})), R"({"a\n\"": 1, "": null})");
}

TEST(JsonText, WholeNumbersAreWrittenToTheLastDigit) {
  EXPECT_EQ(json_text(INT64_MAX), "9223372036854775807");
  EXPECT_EQ(json_text(INT64_MIN), "-9223372036854775808");
  EXPECT_EQ(json_text(-0.0), "-0.0");
  EXPECT_EQ(json_text(1e15), "1000000000000000.0");
  EXPECT_EQ(json_text(1.7976931348623157e308), "1.7976931348623157e+308");
}

}  // namespace
}  // namespace muster

#include "slurm/feature_text.h"

#include <gtest/gtest.h>

#include "text/words.h"

namespace muster {
namespace {

// "a b / c": alternatives parted by slashes.
std::string alternatives(std::string_view text) {
  const auto constraint = parse_features(text);
  if (!constraint.has_value()) return constraint.error().text();
  std::vector<std::string> parts;
  for (const auto& features : constraint->alternatives) parts.push_back(join(features, " "));
  return join(parts, " / ");
}

TEST(FeatureText, BecomesAlternatives) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", ""},
      {"gpu", "gpu"},
      {"b&a", "a b"},
      {"a,b", "a b"},
      {"a|b", "a / b"},
      {"a&b|c", "a b / c"},
      {"a|b&c", "a c / b c"},
      {"a&(b|c)", "a b / a c"},
      {"(a|b)&(c|d)", "a c / a d / b c / b d"},
      {"((a))", "a"},
      {"a&a|a", "a"},
      {" a & b ", "a b"},
  };
  for (const auto& [text, expected] : kCases) EXPECT_EQ(alternatives(text), expected) << text;
}

TEST(FeatureText, RefusesOtherTexts) {
  for (const char* bad : {"&", "a&", "a||b", "(a", "a)", "()", "a b", "|a", "a(b)"}) {
    const auto constraint = parse_features(bad);
    ASSERT_FALSE(constraint.has_value()) << bad;
    EXPECT_EQ(constraint.error().code, ErrorCode::kInvalidArgument) << bad;
    EXPECT_EQ(constraint.error().message, "Invalid feature specification");
  }
  EXPECT_FALSE(parse_features(std::string(100, '(') + "a" + std::string(100, ')')).has_value());
}

TEST(FeatureText, NamesWhatIsNotSupported) {
  for (const char* text : {"[rack1|rack2]", "a*2&b", "a&[b|c]", "a[1-2]"}) {
    EXPECT_EQ(parse_features(text).error().code, ErrorCode::kUnimplemented) << text;
  }
  EXPECT_NE(alternatives("a*2").find("FEATURE*COUNT"), std::string::npos);
}

TEST(FeatureText, BoundsItsSize) {
  std::string text = "(a0|b0)";
  for (int i = 1; i < 20; ++i) text += "&(a" + std::to_string(i) + "|b" + std::to_string(i) + ")";
  EXPECT_EQ(parse_features(text).error().code, ErrorCode::kResourceExhausted);
  std::string wide = "a";
  for (int i = 0; i < 300; ++i) wide += "|f" + std::to_string(i);
  EXPECT_EQ(parse_features(wide).error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace muster

#include "slurm/feature_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/rng.h"
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
  const std::pair<const char*, const char*> cases[] = {
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
  for (const auto& [text, expected] : cases) EXPECT_EQ(alternatives(text), expected) << text;
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

/// An expression and what it says of a set of features, worked out from its tree.
struct Expression {
  std::string text;
  std::function<bool(const std::set<std::string>&)> holds;
};
Expression random_expression(Rng& rng, int depth) {
  if (depth == 0 || rng.chance(0.3)) {
    const std::string name(1, static_cast<char>('a' + rng.below(5)));
    return {name, [name](const std::set<std::string>& there) { return there.contains(name); }};
  }
  // Parentheses around both sides, so that the tree does not hang upon ranks.
  const Expression left = random_expression(rng, depth - 1);
  const Expression right = random_expression(rng, depth - 1);
  const bool is_or = rng.chance(0.5);
  const std::string sign = is_or ? "|" : rng.chance(0.5) ? "&" : ",";
  return {"(" + left.text + ")" + sign + "(" + right.text + ")",
          [=](const std::set<std::string>& there) {
            return is_or ? left.holds(there) || right.holds(there)
                         : left.holds(there) && right.holds(there);
          }};
}

TEST(FeatureText, TheAlternativesSayWhatTheExpressionDoes) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    const Expression expression = random_expression(rng, 4);
    const auto constraint = parse_features(expression.text);
    ASSERT_TRUE(constraint.has_value()) << "seed " << seed << ": " << expression.text;
    for (unsigned mask = 0; mask < 32; ++mask) {
      std::set<std::string> there;
      for (unsigned i = 0; i < 5; ++i) {
        if ((mask >> i & 1U) != 0) there.insert(std::string(1, static_cast<char>('a' + i)));
      }
      const bool is_met = std::ranges::any_of(constraint->alternatives, [&](const auto& all) {
        return std::ranges::all_of(all, [&](const auto& one) { return there.contains(one); });
      });
      ASSERT_EQ(is_met, expression.holds(there)) << "seed " << seed << ": " << expression.text;
    }
    EXPECT_TRUE(std::ranges::is_sorted(constraint->alternatives));
  }
}

TEST(FeatureText, ExactlyAsManyAlternativesAsAreAllowed) {
  std::string text = "f0";
  for (std::size_t i = 1; i < kFeatureAlternativesMax; ++i) text += "|f" + std::to_string(i);
  EXPECT_EQ(parse_features(text)->alternatives.size(), kFeatureAlternativesMax);
  EXPECT_EQ(parse_features(text + "|f0")->alternatives.size(), kFeatureAlternativesMax)
      << "one that is there already is none more";
  EXPECT_FALSE(parse_features(text + "|more").has_value());
}

TEST(FeatureText, NestsThirtyTwoDeep) {
  const auto nested = [](std::size_t depth) {
    return parse_features(std::string(depth, '(') + "a" + std::string(depth, ')')).has_value();
  };
  EXPECT_TRUE(nested(32));
  EXPECT_FALSE(nested(33));
}

}  // namespace
}  // namespace muster

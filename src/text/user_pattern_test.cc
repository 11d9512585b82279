#include "text/user_pattern.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

TEST(UserPattern, WhatRe2TakesIsTaken) {
  for (const char* pattern : {"", "loss", ".*CUDA out of memory.*", "(?i)nan|inf", "a{1,1000}",
                              "[[:digit:]]+", "\\bE\\d{4}\\b", "\xc3\xa9+"}) {
    EXPECT_TRUE(check_pattern(pattern).has_value()) << pattern;
  }
}

TEST(UserPattern, WhatIsWrongIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"a(b", "missing ): a(b"},
      {"a)b", "unexpected ): a)b"},
      {"[z-a]", "invalid character class range: z-a"},
      {"*a", "no argument for repetition operator: *"},
      {"a\\", "trailing \\"},
      {"(?=ahead)", "invalid perl operator: (?="},
      {"(a)\\1", "invalid escape sequence: \\1"},
      {"a{1,1001}", "invalid repetition size: {1,1001}"},
      {"\xff", "invalid UTF-8"}};
  for (const auto& [pattern, why] : cases) {
    const Status refused = check_pattern(pattern);
    ASSERT_FALSE(refused.has_value()) << pattern;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(refused.error().detail.find(why), std::string::npos)
        << pattern << ": " << refused.error().detail;
  }
}

TEST(UserPattern, IsAtMostFourKibibytesLong) {
  EXPECT_TRUE(check_pattern_length(std::string(4096, 'a')).has_value());
  EXPECT_TRUE(check_pattern(std::string(4096, 'a')).has_value());
  EXPECT_FALSE(check_pattern_length(std::string(4097, 'a')).has_value());
  EXPECT_FALSE(check_pattern(std::string(4097, 'a')).has_value());
}

TEST(UserPattern, NeedsBoundedMemory) {
  EXPECT_FALSE(check_pattern("((a{100}){100}){100}").has_value());
  std::string wide;
  for (int i = 0; i < 40; ++i) wide += "\\pL{1000}";
  EXPECT_FALSE(check_pattern(wide).has_value());
}

}  // namespace
}  // namespace muster

#include "text/words.h"

#include <gtest/gtest.h>

#include <array>

namespace muster {
namespace {

using Parts = std::vector<std::string_view>;

TEST(Words, SplitKeepsEmptyPartsAndSplitWordsDropsThem) {
  EXPECT_EQ(split("a,,b", ','), (Parts{"a", "", "b"}));
  EXPECT_EQ(split("", ','), Parts{""});
  EXPECT_EQ(split_words(" a , ,b\t", ','), (Parts{"a", "b"}));
  EXPECT_EQ(split_list("x, y"), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(join(split_list("x, y"), "+"), "x+y");
}

TEST(Words, WholeNumbersTakeDigitsAndStayInRange) {
  EXPECT_EQ(parse_whole("007"), 7U);
  EXPECT_EQ(parse_whole("18446744073709551615"), UINT64_MAX);
  for (const char* bad : {"", "-1", "+1", "1 ", "18446744073709551616", "0x1"}) {
    EXPECT_EQ(parse_whole(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(parse_whole("11", 10), std::nullopt);
  EXPECT_EQ(parse_whole32("4294967295"), UINT32_MAX);
  EXPECT_EQ(parse_whole32("4294967296"), std::nullopt);
  EXPECT_EQ(leading_digits("12ab"), 2U);
  EXPECT_EQ(leading_digits("12"), 2U);
}

TEST(Words, CaseAndAbbreviation) {
  EXPECT_TRUE(equal_ignoring_case("NodeName", "nodename"));
  EXPECT_FALSE(equal_ignoring_case("Node", "NodeName"));
  EXPECT_EQ(lower("AbC-1"), "abc-1");
  EXPECT_TRUE(is_abbreviation("MIN", "minutes"));
  EXPECT_FALSE(is_abbreviation("", "minutes"));
  EXPECT_FALSE(is_abbreviation("minutesx", "minutes"));
}

TEST(Words, NearestWordSuggestsOnlyWhatIsLike) {
  static constexpr std::array<std::string_view, 3> kKeys = {"NodeName", "NodeAddr", "Weight"};
  EXPECT_EQ(nearest_word("nodenam", kKeys), "NodeName");
  EXPECT_EQ(nearest_word("Wieght", kKeys), "Weight");
  EXPECT_EQ(nearest_word("Colour", kKeys), std::nullopt);
}

TEST(Words, BlanksAreCutAtBothEndsAndNowhereElse) {
  EXPECT_EQ(trim(" \t\r\na b\n "), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(trim("\x0b"
                 "a\xa0"),
            "\x0b"
            "a\xa0")
      << "other white space is text";
  EXPECT_EQ(split_words(" ,\t,", ','), Parts{});
  EXPECT_EQ(split("a,", ','), (Parts{"a", ""}));
}

TEST(Words, JoinPutsSeparatorsBetween) {
  EXPECT_EQ(join({}, ","), "");
  EXPECT_EQ(join(std::vector<std::string>{""}, ","), "");
  EXPECT_EQ(join(std::vector<std::string>{"", "a", ""}, ", "), ", a, ");
}

TEST(Words, LettersBeyondAsciiHaveNoCase) {
  EXPECT_EQ(lower("\xc3\x89"), "\xc3\x89");
  EXPECT_FALSE(equal_ignoring_case("\xc3\x89", "\xc3\xa9"));
  EXPECT_FALSE(equal_ignoring_case("@", "`")) << "32 apart, as letters' cases are";
}

TEST(Words, OfEquallyLikeWordsTheFirstIsSuggested) {
  static constexpr std::array<std::string_view, 3> kKeys = {"bats", "cats", "rats"};
  EXPECT_EQ(nearest_word("hats", kKeys), "bats");
  EXPECT_EQ(nearest_word("RATS", kKeys), "rats");
  EXPECT_EQ(nearest_word("", kKeys), std::nullopt);
  EXPECT_EQ(nearest_word("hats", {}), std::nullopt);
}

}  // namespace
}  // namespace muster

#include "slurm/array_text.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace muster {
namespace {

std::string read_back(std::string_view text) {
  const auto spec = parse_array(text, 1001);
  return spec.has_value() ? array_text(*spec) : spec.error().text();
}

TEST(ArrayText, ReadsAndPrintsCompactly) {
  const std::pair<const char*, const char*> cases[] = {
      {"0-15%4", "0-15%4"},
      {"1,3,5-7", "1,3,5-7"},
      {"0,2,4-6", "0,2,4-6"},
      {"0-14:2", "0-14:2"},
      {"0-15:2%4", "0-14:2%4"},
      {"0-10:2", "0,2,4,6,8,10"},
      {"0,20", "0-20:20"},
      {"[1-3]%2", "1-3%2"},
      {"5", "5"},
      {"1000", "1000"},
      {"3,1,2,2", "1-3"},
      {" 1-2 ", "1-2"},
      {"1-3%0", "1-3"},
      {"0-20:2,21", "0,2,4,6,8,10,12,14,16,18,20-21"},
  };
  for (const auto& [text, printed] : cases) EXPECT_EQ(read_back(text), printed) << text;
}

TEST(ArrayText, RefusesOtherTexts) {
  for (const char* bad : {"", ",", "1,", "a", "3-1", "1-", "-3", "1:2", "1-3:0", "1-3:x", "1-3%",
                          "1-3%x", "%4", "1 2", "[1-3", "1-3]", "1-2-3", "99999999999"}) {
    const auto spec = parse_array(bad, 1001);
    ASSERT_FALSE(spec.has_value()) << bad;
    EXPECT_EQ(spec.error().message, "Invalid job array specification") << bad;
  }
  EXPECT_NE(read_back("0-1001").find("index 1001 of '0-1001' is not below MaxArraySize=1001"),
            std::string::npos);
  EXPECT_FALSE(parse_array("4294967295", UINT32_MAX).has_value());
}

TEST(ArrayText, KnowsTheFactsOfTheWholeArray) {
  EXPECT_EQ(array_range(parse_array("2-10:4", 1001).value()), (ArrayRange{3, 2, 10, 4}));
  EXPECT_EQ(array_range(parse_array("1,2,4", 1001).value()), (ArrayRange{3, 1, 4, 1}));
  EXPECT_EQ(array_range(parse_array("7", 1001).value()), (ArrayRange{1, 7, 7, 1}));
  EXPECT_EQ(array_range(ArraySpec{}), ArrayRange{});
}

TEST(ArrayText, CutsLongTexts) {
  EXPECT_EQ(cut_array_text(std::string(64, '1')), std::string(64, '1'));
  EXPECT_EQ(cut_array_text(std::string(65, '1')), std::string(61, '1') + "...");
  EXPECT_EQ(cut_array_text(std::string(200, '1'), 0), std::string(200, '1'));
  EXPECT_EQ(cut_array_text("12345", 4), "1...");
  EXPECT_EQ(cut_array_text("12345", 2), "..");
}

TEST(ArrayText, PrintedArraysReadBack) {
  constexpr std::uint64_t kSeed = 5;
  Rng rng(kSeed);
  for (int round = 0; round < 2000; ++round) {
    ArraySpec spec;
    spec.throttle = static_cast<std::uint32_t>(rng.below(3));
    const std::uint64_t step = 1 + rng.below(4);
    for (std::uint64_t i = rng.below(5), left = 1 + rng.below(20); left > 0; --left, i += step) {
      if (rng.chance(0.9)) spec.indices.set(i);
    }
    if (spec.indices.empty()) continue;
    EXPECT_EQ(parse_array(array_text(spec), 1001).value(), spec)
        << "seed " << kSeed << " round " << round;
  }
}

}  // namespace
}  // namespace muster

#include "slurm/memory_text.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace muster {
namespace {

TEST(MemoryText, ReadsUnits) {
  const std::pair<const char*, std::uint64_t> cases[] = {
      {"512", 512}, {"512M", 512}, {"4G", 4096}, {"4gb", 4096}, {"1T", 1 << 20}, {"1P", 1 << 30},
      {"1K", 1},    {"1024k", 1},  {"1025K", 2}, {"0", 0},      {" 8G ", 8192},
  };
  for (const auto& [text, mib] : cases) EXPECT_EQ(parse_memory(text).value(), mib) << text;
}

TEST(MemoryText, RefusesOtherTexts) {
  for (const char* bad : {"", "G", "1.5T", "-1", "4X", "4E", "4GX", "4GBB", "99999999999999999999",
                          "17592186044417M", "17179869184P"}) {
    const auto mib = parse_memory(bad);
    ASSERT_FALSE(mib.has_value()) << bad;
    EXPECT_EQ(mib.error().message, "Invalid memory specification");
    EXPECT_NE(mib.error().detail.find(bad), std::string::npos);
  }
}

TEST(MemoryText, PrintsTheLargestWholeUnit) {
  EXPECT_EQ(memory_text(0), "0");
  EXPECT_EQ(memory_text(4096), "4G");
  EXPECT_EQ(memory_text(1500), "1500M");
  EXPECT_EQ(memory_text(std::uint64_t{3} << 20), "3T");
  EXPECT_EQ(memory_text(std::uint64_t{1} << 44), "16E");
}

TEST(MemoryText, ScalesMeasuredAmounts) {
  EXPECT_EQ(scaled_memory_text(0), "0");
  EXPECT_EQ(scaled_memory_text(1000), "1000K");
  EXPECT_EQ(scaled_memory_text(1500), "1.46M");
  EXPECT_EQ(scaled_memory_text(2048), "2M");
}

TEST(MemoryText, PrintedAmountsReadBack) {
  constexpr std::uint64_t kSeed = 3;
  Rng rng(kSeed);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t mib = rng.below(std::uint64_t{1} << 33);
    EXPECT_EQ(parse_memory(memory_text(mib)).value(), mib) << "seed " << kSeed;
  }
}

TEST(MemoryText, EachUnitIsAThousandAndTwentyFourOfTheLast) {
  std::uint64_t mib = 1;
  for (const char* unit : {"M", "G", "T", "P"}) {
    EXPECT_EQ(parse_memory(std::string("1") + unit).value(), mib) << unit;
    EXPECT_EQ(parse_memory(std::string("3") + unit + "B").value(), 3 * mib) << unit;
    EXPECT_EQ(memory_text(3 * mib), std::string("3") + unit);
    mib *= 1024;
  }
  EXPECT_EQ(parse_memory("17592186044416M").value(), std::uint64_t{1} << 44);
  EXPECT_EQ(parse_memory("16777216T").value(), std::uint64_t{1} << 44);
  EXPECT_FALSE(parse_memory("16777217T").has_value());
  EXPECT_EQ(parse_memory("18014398509481984K").value(), std::uint64_t{1} << 44);
}

TEST(MemoryText, MeasuredAmountsKeepAtLeastOneOfTheirUnit) {
  EXPECT_EQ(scaled_memory_text(1), "1K");
  EXPECT_EQ(scaled_memory_text(1023), "1023K");
  EXPECT_EQ(scaled_memory_text(1024), "1M");
  EXPECT_EQ(scaled_memory_text(1025), "1.00M");
  EXPECT_EQ(scaled_memory_text((std::uint64_t{1} << 20) + (std::uint64_t{1} << 19)), "1.50G");
  EXPECT_EQ(scaled_memory_text(std::uint64_t{1} << 50), "1E");
  EXPECT_EQ(scaled_memory_text(UINT64_MAX), "16384.00E");
}

}  // namespace
}  // namespace muster

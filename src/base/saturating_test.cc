#include "base/saturating.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(Saturating, ProductsThatFitAreExact) {
  EXPECT_EQ(saturating_product(std::int64_t{0}, kMost), 0);
  EXPECT_EQ(saturating_product(std::int64_t{1}, kMost), kMost);
  EXPECT_EQ(saturating_product(std::int64_t{3'000'000'000}, std::int64_t{3}), 9'000'000'000);
  EXPECT_EQ(saturating_product(UINT64_MAX, std::uint64_t{1}), UINT64_MAX);
  EXPECT_EQ(saturating_product(std::uint64_t{1} << 32, std::uint64_t{1} << 31),
            std::uint64_t{1} << 63);
}

TEST(Saturating, ProductsBeyondStopAtTheLargestNumber) {
  EXPECT_EQ(saturating_product(kMost, std::int64_t{2}), kMost);
  EXPECT_EQ(saturating_product(kMost, kMost), kMost);
  EXPECT_EQ(saturating_product(std::int64_t{1} << 32, std::int64_t{1} << 31), kMost);
  EXPECT_EQ(saturating_product(std::uint64_t{1} << 32, std::uint64_t{1} << 32), UINT64_MAX);
  EXPECT_EQ(saturating_product(UINT64_MAX, UINT64_MAX), UINT64_MAX);
}

}  // namespace
}  // namespace muster

#include "base/id.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

namespace muster {
namespace {

using AppleId = Id<struct AppleTag>;
using PearId = Id<struct PearTag, std::uint64_t>;

TEST(Id, IdsOfDifferentThingsDoNotMix) {
  static_assert(!std::is_convertible_v<AppleId, PearId>);
  static_assert(!std::is_convertible_v<std::uint32_t, AppleId>);
  static_assert(!std::is_constructible_v<AppleId, PearId>);
  static_assert(sizeof(AppleId) == 4 && sizeof(PearId) == 8);
  EXPECT_EQ(AppleId().value(), 0U);
}

TEST(Id, IsOrderedByItsNumber) {
  EXPECT_LT(AppleId(1), AppleId(2));
  EXPECT_LT(AppleId(0x7fffffff), AppleId(0x80000000)) << "unsigned";
  EXPECT_EQ(AppleId(3), AppleId(3));
  EXPECT_NE(PearId(UINT64_MAX), PearId(UINT32_MAX));
}

TEST(Id, StandsInHashedSets) {
  const std::unordered_set<PearId> known = {PearId(1), PearId(UINT64_MAX), PearId(1)};
  EXPECT_EQ(known.size(), 2U);
  EXPECT_TRUE(known.contains(PearId(UINT64_MAX)));
  EXPECT_FALSE(known.contains(PearId(2)));
}

}  // namespace
}  // namespace muster

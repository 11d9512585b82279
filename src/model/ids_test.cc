#include "model/ids.h"

#include <gtest/gtest.h>

#include <unordered_set>

namespace muster {
namespace {

TEST(RequestId, ZeroAloneIsNone) {
  EXPECT_FALSE(RequestId().is_set());
  EXPECT_TRUE((RequestId{1, 0}).is_set());
  EXPECT_TRUE((RequestId{0, 1}).is_set());
}

TEST(RequestId, BothHalvesCountWhereItIsLookedUp) {
  std::unordered_set<RequestId> known;
  for (std::uint64_t high = 0; high < 20; ++high) {
    for (std::uint64_t low = 0; low < 20; ++low) known.insert({high, low});
  }
  EXPECT_EQ(known.size(), 400U);
  EXPECT_TRUE(known.contains({3, 4}));
  EXPECT_FALSE(known.contains({20, 4}));
  EXPECT_NE(std::hash<RequestId>{}({1, 2}), std::hash<RequestId>{}({2, 1}));
}

TEST(StepId, RunsOfOneStepDiffer) {
  EXPECT_LT((StepId{JobId(1), 0, kBatchStep}), (StepId{JobId(1), 1, 0}));
  EXPECT_LT((StepId{JobId(1), 9, 9}), (StepId{JobId(2), 0, 0}));
  EXPECT_LT(kInteractiveStep, kBatchStep) << "and every ordinary number is below them";
}

}  // namespace
}  // namespace muster

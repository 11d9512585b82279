#include "sched/plan/plan.h"

#include <gtest/gtest.h>

#include "sched/testing.h"

namespace muster::sched {
namespace {

using namespace testing;

Window window(std::uint32_t job, std::int64_t start) {
  return {JobId(job), {}, PartitionIndex(0), at(start), at(start + 10), {}};
}

TEST(Plan, OfSeveralWindowsOfAJobTheFirstCounts) {
  Plan plan;
  plan.windows = {window(1, 50), window(2, 10), window(1, 20), window(1, 30)};
  EXPECT_EQ(plan.window_of(JobId(1))->start, at(20));
  EXPECT_EQ(plan.window_of(JobId(2))->start, at(10));
  EXPECT_EQ(plan.window_of(JobId(3)), nullptr);
}

TEST(Plan, WhatItCostIsNoPartOfWhatWasDecided) {
  Plan plan;
  Plan other;
  other.effort = 9;
  EXPECT_EQ(plan, other);
  other.windows = {window(1, 1)};
  EXPECT_NE(plan, other);
  other = plan;
  other.revision = 1;
  EXPECT_NE(plan, other);
  other = plan;
  other.options = PlanOptions::conservative();
  EXPECT_NE(plan, other);
}

TEST(Plan, ConservativeIsAWindowForEverybody) {
  EXPECT_EQ(PlanOptions::conservative().reservation_depth, UINT32_MAX);
  EXPECT_TRUE(PlanOptions::conservative().is_backfill);
}

TEST(Plan, SaysOfANeedOnlyWhatItKnewOfThatOne) {
  Plan plan;
  plan.outcomes = {{NeedIndex(1), 7, PendingReason::kBadConstraints},
                   {NeedIndex(3), 9, PendingReason::kNone}};
  EXPECT_EQ(plan.refusal_of(NeedIndex(1), 7), PendingReason::kBadConstraints);
  EXPECT_EQ(plan.refusal_of(NeedIndex(1), 8), PendingReason::kNone) << "another in its place";
  EXPECT_EQ(plan.outcome_of(NeedIndex(1), 8), nullptr);
  EXPECT_EQ(plan.outcome_of(NeedIndex(2), 7), nullptr);
  ASSERT_NE(plan.outcome_of(NeedIndex(3), 9), nullptr);
  EXPECT_EQ(plan.outcome_of(NeedIndex(4), 9), nullptr);
}

}  // namespace
}  // namespace muster::sched

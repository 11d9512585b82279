#include "base/check.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Check, WhatHoldsCostsNothingButItsCondition) {
  int evaluated = 0;
  CHECK(++evaluated == 1);
  CHECK(++evaluated == 2, "never formatted: {}", ++evaluated);
  EXPECT_EQ(evaluated, 2);
}

TEST(Check, IsOneStatement) {
  bool is_reached = false;
  if (is_reached)
    CHECK(false);
  else
    is_reached = true;
  EXPECT_TRUE(is_reached);
}

TEST(CheckDeathTest, SaysWhereAndWhatFailed) {
  EXPECT_DEATH(CHECK(1 > 2), "check_test.cc:[0-9]+: check failed: 1 > 2\n");
  EXPECT_DEATH(CHECK(1 > 2, "job {} has {} nodes", 7, 0),
               "check failed: 1 > 2: job 7 has 0 nodes\n");
}

}  // namespace
}  // namespace muster

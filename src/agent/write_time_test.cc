#include "agent/write_time.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr Duration kMoment = Duration::milliseconds(1);

TEST(JudgeWrite, WhatIsRecordedInTimeStarts) {
  EXPECT_TRUE(judge_write({kStaleAfter, kStaleAfter}).has_value());
}

TEST(JudgeWrite, ASlowDiskIsTheNodesFault) {
  const Status judged = judge_write({kStaleAfter + kMoment, kStaleAfter + kMoment});
  ASSERT_FALSE(judged.has_value());
  EXPECT_EQ(judged.error().code, ErrorCode::kUnavailable);
}

TEST(JudgeWrite, AProcessThatStoodStillBlamesNoDisk) {
  const Status judged = judge_write({Duration::seconds(600), kStaleAfter});
  ASSERT_FALSE(judged.has_value());
  EXPECT_EQ(judged.error().code, ErrorCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace muster

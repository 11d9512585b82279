#include "model/reason.h"

#include <gtest/gtest.h>

#include <set>

namespace muster {
namespace {

TEST(PendingReason, EachHasAWordOfItsOwn) {
  std::set<std::string_view> words;
  constexpr int kLast = static_cast<int>(PendingReason::kProlog);
  for (int i = 0; i <= kLast; ++i)
    EXPECT_TRUE(words.insert(pending_reason_word(static_cast<PendingReason>(i))).second) << i;
  EXPECT_EQ(pending_reason_word(static_cast<PendingReason>(200)), "None");
}

TEST(PendingReason, ProgramsFindTheWordsThatSlurmHas) {
  // Source: squeue(1), JOB REASON CODES.
  EXPECT_EQ(pending_reason_word(PendingReason::kInvalidQos), "InvalidQOS");
  EXPECT_EQ(pending_reason_word(PendingReason::kDeadline), "DeadLine");
  EXPECT_EQ(pending_reason_word(PendingReason::kReqNodeNotAvail), "ReqNodeNotAvail");
  EXPECT_EQ(pending_reason_word(PendingReason::kJobArrayTaskLimit), "JobArrayTaskLimit");
  EXPECT_EQ(pending_reason_word(PendingReason::kDependencyNeverSatisfied),
            "DependencyNeverSatisfied");
}

}  // namespace
}  // namespace muster

#include "model/job_state.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(JobState, NamesAndCodesRoundTrip) {
  for (int i = 0; i < kJobStateCount; ++i) {
    const auto state = static_cast<JobState>(i);
    EXPECT_EQ(parse_job_state(job_state_name(state)), state);
    EXPECT_EQ(parse_job_state(job_state_code(state)), state);
  }
  EXPECT_EQ(parse_job_state("completed"), JobState::kCompleted);
  EXPECT_EQ(parse_job_state("NOPE"), std::nullopt);
}

TEST(JobState, FlagsWinOverTheState) {
  EXPECT_EQ(shown_state_code(JobState::kCancelled, job_flag::kCompleting), "CG");
  EXPECT_EQ(shown_state_name(JobState::kPending, job_flag::kRequeueHeld), "REQUEUE_HOLD");
  EXPECT_EQ(shown_state_name(JobState::kPending, job_flag::kSpecialExit | job_flag::kRequeueHeld),
            "SPECIAL_EXIT");
  EXPECT_EQ(shown_state_name(JobState::kRunning, 0), "RUNNING");
  for (const std::uint16_t hold : {job_flag::kUserHeld, job_flag::kAdminHeld, job_flag::kTrialHeld})
    EXPECT_EQ(shown_state_code(JobState::kPending, job_flag::kRequeued | hold), "PD")
        << "a hold after it was requeued is a hold: " << hold;
}

}  // namespace
}  // namespace muster

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

TEST(JobState, NumbersAndWordsAreSlurms) {
  // Source: slurm/slurm.h, enum job_states; squeue(1), JOB STATE CODES.
  const std::pair<const char*, const char*> states[] = {
      {"PENDING", "PD"},   {"RUNNING", "R"},    {"SUSPENDED", "S"}, {"COMPLETED", "CD"},
      {"CANCELLED", "CA"}, {"FAILED", "F"},     {"TIMEOUT", "TO"},  {"NODE_FAIL", "NF"},
      {"PREEMPTED", "PR"}, {"BOOT_FAIL", "BF"}, {"DEADLINE", "DL"}, {"OUT_OF_MEMORY", "OOM"}};
  for (std::size_t i = 0; i < std::size(states); ++i) {
    const auto state = static_cast<JobState>(i);
    EXPECT_EQ(job_state_name(state), states[i].first);
    EXPECT_EQ(job_state_code(state), states[i].second);
    EXPECT_EQ(shown_state_name(state, 0), states[i].first);
    EXPECT_EQ(is_finished(state), i >= 3);
  }
}

TEST(JobState, CompletingWinsOverWhatIsHeld) {
  for (const std::uint16_t flags : {job_flag::kRequeueHeld, job_flag::kSpecialExit}) {
    const auto both = static_cast<std::uint16_t>(flags | job_flag::kCompleting);
    EXPECT_EQ(shown_state_name(JobState::kPending, both), "COMPLETING");
    EXPECT_EQ(shown_state_code(JobState::kRunning, flags), "R") << "only what waits is held";
  }
}

TEST(JobState, NoOtherWordIsAState) {
  for (const char* text : {"", "P", "PDX", "COMPLETING", "RUNNING ", "CANCELED"})
    EXPECT_EQ(parse_job_state(text), std::nullopt) << text;
  EXPECT_EQ(parse_job_state("oom"), JobState::kOutOfMemory);
}

}  // namespace
}  // namespace muster

#include "model/job.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

Job job_in(JobState state, int flags = 0) {
  Job job;
  job.state = state;
  job.flags = static_cast<std::uint16_t>(flags);
  return job;
}

TEST(Job, HoldsResourcesUntilEveryNodeIsClean) {
  for (int i = 0; i < kJobStateCount; ++i) {
    const auto state = static_cast<JobState>(i);
    const bool runs = state == JobState::kRunning || state == JobState::kSuspended;
    EXPECT_EQ(job_in(state).holds_resources(), runs) << i;
    EXPECT_TRUE(job_in(state, job_flag::kCompleting).holds_resources()) << i;
  }
}

TEST(Job, IsOverWhenItIsCleanAndDoesNotRunAgain) {
  for (int i = 0; i < kJobStateCount; ++i) {
    const auto state = static_cast<JobState>(i);
    EXPECT_EQ(job_in(state).is_over(), i >= static_cast<int>(JobState::kCompleted)) << i;
    EXPECT_FALSE(job_in(state, job_flag::kCompleting).is_over()) << i;
    EXPECT_FALSE(job_in(state, job_flag::kRequeueAfter).is_over()) << i;
  }
}

TEST(Job, AnyHoldHoldsIt) {
  EXPECT_FALSE(job_in(JobState::kPending).is_held());
  for (const std::uint16_t hold :
       {job_flag::kUserHeld, job_flag::kAdminHeld, job_flag::kRequeueHeld, job_flag::kTrialHeld})
    EXPECT_TRUE(job_in(JobState::kPending, hold).is_held()) << hold;
  EXPECT_FALSE(job_in(JobState::kPending, job_flag::kRequeued | job_flag::kWarned).is_held());
}

TEST(Job, RunsAreCountedOverAllJobsOfATrial) {
  auto spec = std::make_shared<JobSpec>();
  spec->runs_before = 4;
  Job job;
  job.spec = spec;
  EXPECT_EQ(run_number(job), 5U) << "its first";
  EXPECT_EQ(last_run(job), 4U) << "which has not begun";
  job.run = std::make_unique<JobRun>();
  EXPECT_EQ(run_number(job), 5U);
  EXPECT_EQ(last_run(job), 5U);
  job.attempt = 2;
  job.run.reset();
  EXPECT_EQ(run_number(job), 7U);
  EXPECT_EQ(last_run(job), 6U);
}

TEST(JobRun, TheNewestStepOfANumberIsFound) {
  JobRun run;
  EXPECT_EQ(run.find_step(0), nullptr);
  for (const std::uint32_t step : {0U, kBatchStep, 0U}) {
    run.steps.emplace_back().id.step = step;
    run.steps.back().launch_key = run.steps.size();
  }
  EXPECT_EQ(run.find_step(0)->launch_key, 3U);
  EXPECT_EQ(run.find_step(kBatchStep)->launch_key, 2U);
  EXPECT_EQ(run.find_step(1), nullptr);
}

TEST(JobRun, AStepsLaunchKeyIsItsOwnOrItsRuns) {
  JobRun run;
  run.run_key = 5;
  StepState step;
  EXPECT_EQ(run.launch_key_of(step), 5U);
  step.launch_key = 7;
  EXPECT_EQ(run.launch_key_of(step), 7U);
}

TEST(JobRun, IsCleanWhenAllOfItsNodesAre) {
  JobRun run;
  auto allocation = std::make_shared<Allocation>();
  allocation->nodes.resize(2);
  allocation->nodes[0].cpus = Bitmap::range(0, 3);
  allocation->nodes[1].cpus = Bitmap::range(60, 10);
  EXPECT_EQ(allocation->cpu_count(), 13U);
  run.allocation = allocation;
  EXPECT_FALSE(run.is_clean());
  run.released.set(1);
  EXPECT_FALSE(run.is_clean());
  run.released.set(0);
  EXPECT_TRUE(run.is_clean());
}

}  // namespace
}  // namespace muster

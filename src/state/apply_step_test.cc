// What each event of a step does to it and to its job's record.
#include <gtest/gtest.h>

#include "state/testing.h"

namespace muster {
namespace {

using testing::at;
using testing::grant_of;
using testing::Log;
using testing::spec_of;

/// A job on both nodes.
struct Steps {
  Log log;
  JobId job = log.submit(spec_of());
  Steps() { log.start(job, {grant_of(0, 0, 4), grant_of(1, 0, 4)}); }

  StepId add(std::uint32_t number) {
    return log.step(job, number, {grant_of(0, 0, 1), grant_of(1, 0, 1)});
  }
  const StepState& step(std::uint32_t number) const { return *log.job(job).run->find_step(number); }
  const JobRun& run() const { return *log.job(job).run; }
  void end(std::uint32_t number, JobState state, ExitStatus exit, Usage usage = {}) {
    log.add({StepEnded{StepId{job, 0, number}, state, exit, usage, "said so"}});
  }
};

TEST(StepCreated, CountsOnBelowTheSpecialNumbers) {
  Steps steps;
  EXPECT_EQ(steps.run().next_step, 0U);
  steps.add(kBatchStep);
  EXPECT_EQ(steps.run().next_step, 0U);
  steps.add(0);
  EXPECT_EQ(steps.run().next_step, 1U);
  for (const std::uint32_t special : {kExternStep, kInteractiveStep}) steps.add(special);
  EXPECT_EQ(steps.run().next_step, 1U);
  EXPECT_EQ(steps.run().steps.size(), 4U);
  EXPECT_EQ(steps.step(0).start_time, at(6));
  EXPECT_TRUE(steps.step(0).is_running());
  EXPECT_TRUE(steps.step(0).begun.empty());
}

TEST(StepCreated, IsLaunchedUnderItsOwnKeyOrItsRuns) {
  Log log;
  const JobId job = log.submit(spec_of());
  auto allocation = std::make_shared<Allocation>();
  allocation->nodes = {grant_of(0, 0, 1)};
  log.add({JobStarted{job, PartitionIndex(0), allocation, Duration::minutes(1), 11}});
  auto layout = std::make_shared<StepLayout>();
  layout->nodes = {grant_of(0, 0, 1)};
  log.add({StepCreated{StepId{job, 0, 0}, nullptr, layout, 0},
           StepCreated{StepId{job, 0, 1}, nullptr, layout, 22}});
  const JobRun& run = *log.job(job).run;
  EXPECT_EQ(run.launch_key_of(*run.find_step(0)), 11U);
  EXPECT_EQ(run.launch_key_of(*run.find_step(1)), 22U);
}

TEST(StepCreated, ReferencesItsEnvironmentUntilItsEnd) {
  Steps steps;
  auto spec = std::make_shared<StepSpec>();
  spec->environment = BlobId(1);
  auto layout = std::make_shared<StepLayout>();
  layout->nodes = {grant_of(0, 0, 1)};
  steps.log.add(
      {StepCreated{StepId{steps.job, 0, 0}, spec, layout}},
      {BlobWrite{BlobId(1), std::string(32, 'e'), 1, std::make_shared<const std::string>("e")}});
  EXPECT_EQ(steps.log.state().blobs().record(BlobId(1))->references, 1U);
  steps.end(0, JobState::kCompleted, {});
  EXPECT_FALSE(steps.log.state().blobs().record(BlobId(1)).has_value());
  EXPECT_EQ(steps.log.batches().back()->dead_blobs, std::vector<BlobId>{BlobId(1)});
}

TEST(StepBegun, GathersTheNodesThatRunTheirParts) {
  Steps steps;
  const StepId id = steps.add(0);
  const std::uint64_t before = steps.log.state().jobs().hash();
  steps.log.add({StepBegun{id, Bitmap::range(1, 1)}});
  EXPECT_NE(steps.log.state().jobs().hash(), before);
  EXPECT_EQ(steps.step(0).begun, Bitmap::range(1, 1));
  steps.log.add({StepBegun{id, Bitmap::range(0, 1)}});
  EXPECT_EQ(steps.step(0).begun, Bitmap::range(0, 2));
}

TEST(StepCancelled, NamesWhoAskedAndGoesOnUntilItsEnd) {
  Steps steps;
  const StepId id = steps.add(0);
  EXPECT_FALSE(steps.step(0).cancelled_by.has_value());
  steps.log.add({StepCancelled{id, UserId(7)}});
  EXPECT_EQ(steps.step(0).cancelled_by, UserId(7));
  EXPECT_TRUE(steps.step(0).is_running());
}

TEST(StepEnded, HasWhatItsSupervisorsMeasured) {
  Steps steps;
  steps.add(0);
  steps.end(0, JobState::kOutOfMemory, ExitStatus::signalled(9), {5, 6, 700});
  EXPECT_EQ(steps.step(0).state, JobState::kOutOfMemory);
  EXPECT_EQ(steps.step(0).exit.signal(), 9);
  EXPECT_EQ(steps.step(0).usage, (Usage{5, 6, 700}));
  EXPECT_EQ(steps.step(0).detail, "said so");
  EXPECT_EQ(steps.step(0).end_time, steps.log.state().time());
}

TEST(StepEnded, IsShownToTheObserverWithItsEnd) {
  struct Ended : ApplyObserver {
    std::vector<std::string> heard;
    void attempt_ended(const Job&, TimePoint) override { heard.push_back("attempt"); }
    void step_ended(const Job&, const StepState& step, TimePoint) override {
      heard.push_back(step.detail);
    }
  } ended;
  Steps steps;
  const StepId id = steps.add(0);
  ClusterState copy;
  copy.copy_from(steps.log.state());
  copy.apply(Event{at(90), StepEnded{id, JobState::kFailed, {}, {}, "why"}}, &ended);
  JobEnding ending;
  ending.job = steps.job;
  ending.is_clean = true;
  copy.apply(Event{at(91), ending}, &ended);
  EXPECT_EQ(ended.heard, (std::vector<std::string>{"why", "attempt"}));
}

TEST(NodeReleased, AddsUpWhatItsTasksCameTo) {
  Steps steps;
  steps.add(0);
  steps.log.end(steps.job, JobState::kTimeout, false);
  steps.log.add({NodeReleased{
      steps.job, NodeIndex(0), {StepPart{0, ExitStatus::exited(3), Usage{1, 2, 30}, "first"}}}});
  const ClusterState& state = steps.log.state();
  ASSERT_TRUE(steps.step(0).is_running()) << "the other node's part is out";
  // The second node: a signal is worse than an exit code; the larger peak counts; the first word
  // stays.
  ClusterState copy;
  copy.copy_from(state);
  copy.apply(Event{
      at(90), NodeReleased{steps.job,
                           NodeIndex(1),
                           {StepPart{0, ExitStatus::signalled(15), Usage{10, 20, 5}, "second"}}}});
  const StepState& step = *copy.jobs().find(steps.job)->run->find_step(0);
  EXPECT_EQ(step.exit, ExitStatus::signalled(15));
  EXPECT_EQ(step.usage, (Usage{11, 22, 30}));
  EXPECT_EQ(step.detail, "first");
  EXPECT_EQ(copy.jobs().find(steps.job)->is_completing(), false);
}

TEST(StepsForgotten, LeaveTheirSumBehind) {
  Steps steps;
  for (const std::uint32_t number : {0U, 1U, 2U, kExternStep}) steps.add(number);
  steps.end(0, JobState::kCompleted, ExitStatus::exited(0), {1, 1, 10});
  steps.end(1, JobState::kFailed, ExitStatus::exited(4), {2, 2, 30});
  steps.end(kExternStep, JobState::kFailed, ExitStatus::exited(9), {4, 4, 20});
  steps.log.add({StepsForgotten{steps.job, {0, 1, kExternStep}}});
  EXPECT_EQ(steps.run().steps.size(), 1U);
  EXPECT_EQ(steps.run().find_step(1), nullptr);
  EXPECT_EQ(steps.run().forgotten.count, 3U);
  EXPECT_EQ(steps.run().forgotten.usage, (Usage{7, 7, 30}));
  EXPECT_EQ(steps.run().forgotten.exit, ExitStatus::exited(4))
      << "the worst of the numbered: DerivedExitCode knows no special steps";
}

TEST(StepsForgotten, TheHashIsThatOfTheStepsThatAreLeft) {
  Steps with;
  with.add(0);
  with.add(1);
  with.end(0, JobState::kCompleted, {});
  const std::uint64_t sum = with.run().steps_hash;
  with.log.add({StepsForgotten{with.job, {0}}});
  EXPECT_NE(with.run().steps_hash, sum);
  ClusterState replayed;
  for (const EventBatchRef& batch : with.log.batches()) replayed.apply(*batch);
  EXPECT_EQ(replayed.jobs().find(with.job)->run->steps_hash, with.run().steps_hash);
}

TEST(StepDeath, EventsOutOfTheirOrder) {
  Steps steps;
  const StepId id = steps.add(0);
  const StepId other_run{steps.job, 1, 0};
  const StepId missing{steps.job, 0, 5};
  EXPECT_DEATH(steps.add(0), "is there already");
  EXPECT_DEATH(steps.log.add({StepBegun{other_run, {}}}), "step of another run");
  EXPECT_DEATH(steps.log.add({StepCancelled{other_run, UserId(1)}}), "step of another run");
  EXPECT_DEATH(steps.log.add({StepEnded{other_run, JobState::kFailed, {}, {}, ""}}),
               "step of another run");
  EXPECT_DEATH(steps.log.add({StepBegun{missing, {}}}), "begins after its end");
  EXPECT_DEATH(steps.log.add({StepCancelled{missing, UserId(1)}}), "is cancelled after its end");
  EXPECT_DEATH(steps.log.add({StepsForgotten{steps.job, {0}}}), "is forgotten while it runs");
  EXPECT_DEATH(steps.log.add({StepsForgotten{steps.job, {5}}}), "not all of the steps");
  steps.end(0, JobState::kCompleted, {});
  EXPECT_DEATH(steps.log.add({StepBegun{id, {}}}), "begins after its end");
  EXPECT_DEATH(steps.log.add({StepCancelled{id, UserId(1)}}), "is cancelled after its end");
  steps.log.end(steps.job, JobState::kFailed, false);
  EXPECT_DEATH(steps.log.add({NodeReleased{steps.job, NodeIndex(0), {StepPart{0, {}, {}, ""}}}}),
               "part of step 0, which is over");
  const JobId pending = steps.log.submit(spec_of());
  EXPECT_DEATH(steps.log.add({StepsForgotten{pending, {}}}), "has no steps to forget");
  EXPECT_DEATH(steps.log.add({StopRequested{pending, {}}}), "is asked to stop while it does not");
  EXPECT_DEATH(steps.log.add({RunSignalled{pending, RunSignal::kSession}}),
               "speaks while it does not run");
}

}  // namespace
}  // namespace muster

// What is due to nodes and jobs later: orders that were missed, limits with their grace, returns to
// the queue, records that others need.
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <utility>

#include "controller/testing.h"

namespace muster {
namespace {

using namespace testing;

std::shared_ptr<ClusterConfig> config_with(auto change) {
  auto config = testing::config_of(2);
  change(config->settings);
  for (PartitionConfig& partition : config->partitions)
    partition.over_time_limit = Duration::seconds(-1);  // the cluster's
  return config;
}
JobId started(Rig& rig) {
  rig.connect_all();
  rig.plan();
  auto spec = spec_of();
  spec->time_limit = Duration::minutes(10);
  const JobId job = rig.done(submit_of(spec)).job;
  EXPECT_EQ(rig.job(job).state, JobState::kRunning);
  return job;
}
void end_step(Rig& rig, JobId job, int exit) {
  StepDone done;
  done.id = rig.batch_step(job);
  done.tasks = {ExitStatus::exited(exit)};
  const auto node = rig.job(job).run->allocation->nodes.front().node;
  rig.hear(node.value(), done);
  rig.hear(node.value(), JobClean{job, done.id.attempt});
}

TEST(CoreReturn, ANodeIsToldWhatChangedWhileItWasAway) {
  Rig rig;
  const JobId job = started(rig);
  rig.hear(0, StepRunning{rig.batch_step(job)});
  rig.core.on_agent_lost(NodeIndex(0));
  EXPECT_FALSE(rig.done(UpdateObject{UpdateKind::kJob,
                                     std::to_string(job.value()),
                                     {{"TimeLimit", "2:00:00"}}},
                        kRoot)
                   .error);
  EXPECT_FALSE(rig.done(control_of(JobVerb::kSuspend, selector_of(job)), kRoot).error);
  rig.sent.clear();
  rig.connect(0, {KnownStep{rig.batch_step(job), StepPhase::kRunning}});
  ASSERT_EQ(rig.count_sent<ChangeEnd>(0), 1U);
  EXPECT_EQ(rig.last_sent<ChangeEnd>().end_time, rig.job(job).end_time);
  ASSERT_EQ(rig.count_sent<SuspendJob>(0), 1U);
  EXPECT_TRUE(rig.last_sent<SuspendJob>().is_suspend);
}

TEST(CoreReturn, AStepThatRanAndIsNotNamedIsLookedForAndNotStartedAgain) {
  Rig rig;
  const JobId job = started(rig);
  rig.hear(0, StepRunning{rig.batch_step(job)});
  rig.core.on_agent_lost(NodeIndex(0));
  rig.sent.clear();
  rig.connect(0);
  EXPECT_EQ(rig.count_sent<LaunchStep>(0), 0U);
  ASSERT_EQ(rig.count_sent<FindSteps>(0), 1U);
  ASSERT_EQ(rig.last_sent<FindSteps>().steps.size(), 1U);
  EXPECT_EQ(rig.last_sent<FindSteps>().steps[0].launch_key, rig.launch_key(rig.batch_step(job)));
  StepDone lost;
  lost.id = rig.batch_step(job);
  lost.tasks = {ExitStatus::signalled(9)};
  lost.is_lost = lost.is_node_fault = true;
  rig.hear(0, lost);
  rig.hear(0, JobClean{job, 0});
  EXPECT_EQ(rig.job(job).attempt, 1U) << "the run is lost, and the job begins anew";
}

TEST(CoreReturn, AStepOfWhichNothingWasHeardIsStarted) {
  Rig rig;
  started(rig);
  rig.core.on_agent_lost(NodeIndex(0));
  rig.sent.clear();
  rig.connect(0);
  EXPECT_EQ(rig.count_sent<LaunchStep>(0), 1U);
  EXPECT_EQ(rig.count_sent<FindSteps>(0), 0U);
}

TEST(CoreReturn, WhatASpoolThatIsLostMayHaveStartedIsNotStartedAgain) {
  for (const bool is_damaged : {false, true}) {
    Rig rig;
    started(rig);
    rig.core.on_agent_lost(NodeIndex(0));
    rig.sent.clear();
    RegisterNode hello = Rig::hello_of(0);
    if (is_damaged) hello.cluster_id = rig.core.identity().cluster_id;
    hello.has_lost_records = is_damaged;
    ASSERT_TRUE(rig.greet(hello).has_value());
    EXPECT_EQ(rig.count_sent<LaunchStep>(0), 0U) << is_damaged;
    EXPECT_EQ(rig.count_sent<FindSteps>(0), 1U) << is_damaged;
    // The order may be lost with the connection, and the controller may be another one then.
    rig.core.on_agent_lost(NodeIndex(0));
    Rig next(2, rig.stored());
    hello.cluster_id = rig.core.identity().cluster_id;
    hello.has_lost_records = true;
    ASSERT_TRUE(next.greet(hello).has_value());
    EXPECT_EQ(next.count_sent<LaunchStep>(0), 0U) << is_damaged;
    EXPECT_EQ(next.count_sent<FindSteps>(0), 1U) << is_damaged;
  }
}

TEST(CoreReturn, WhatIsKnownToHaveBegunIsNotStartedAgainByTheNextController) {
  Rig rig;
  const JobId job = started(rig);
  rig.hear(0, StepRunning{rig.batch_step(job)});
  rig.pass(Duration::seconds(2));
  // Both stop; the step ends, and an older copy of the node's spool is put back, which knows
  // nothing of it.
  Rig next(2, rig.stored());
  next.connect(0);
  EXPECT_EQ(next.count_sent<LaunchStep>(0), 0U);
  ASSERT_EQ(next.count_sent<FindSteps>(0), 1U);
  ASSERT_EQ(next.last_sent<FindSteps>().steps.size(), 1U);
  EXPECT_EQ(next.last_sent<FindSteps>().steps[0].id, next.batch_step(job));
}

TEST(CoreReturn, APartThatEndedWhileOthersRunOnIsKnownToHaveBegun) {
  Rig rig(3);
  rig.connect_all();
  rig.plan();
  const JobId job = rig.allocate(3);
  const StepId id = rig.begin_step(job, 3);
  StepDone end;
  end.id = id;
  end.tasks = {ExitStatus::exited(0)};
  rig.hear(1, end);
  rig.hear(2, StepRunning{id});
  rig.pass(Duration::seconds(2));
  const auto begun = [&](const Rig& of) { return of.job(job).run->steps.at(0).begun.indices(); };
  EXPECT_EQ(begun(rig), (std::vector<std::size_t>{1, 2})) << "of node 0 nothing was heard";
  Rig next(3, rig.stored());
  next.connect(1);
  EXPECT_EQ(next.count_sent<LaunchStep>(1), 0U) << "an older copy of its spool was put back";
  EXPECT_EQ(next.count_sent<FindSteps>(1), 1U);
  next.connect(0);
  EXPECT_EQ(next.count_sent<LaunchStep>(0), 1U);
}

TEST(CoreReturn, ALaunchThatAnEarlierControllerPromisedIsWatched) {
  Rig rig(1);
  const JobId job = [&] {
    rig.connect_all();
    rig.plan();
    return rig.done(submit_of(spec_of())).job;
  }();
  Rig next(1, rig.stored());
  next.connect(0);
  next.core.on_blob(next.fetched.at(0), std::make_shared<const std::string>("#!/bin/sh\n"));
  next.live(next.core.state().settings().launch_timeout + Duration::seconds(3));
  EXPECT_EQ(next.job(job).attempt, 1U) << "its node never said that it runs";
  EXPECT_NE(next.core.state().nodes().at(NodeIndex(0)).status.conditions & node_condition::kDrain,
            0);
}

TEST(CoreReturn, WhatRunsIsNotTakenForALaunchThatFailsWhileItsNodeIsAway) {
  Rig rig;
  const JobId job = started(rig);
  rig.hear(0, StepRunning{rig.batch_step(job)});
  rig.pass(Duration::seconds(2));
  Rig next(2, rig.stored());
  next.connect(1);
  next.live(next.core.state().settings().launch_timeout + Duration::seconds(3));
  EXPECT_EQ(next.job(job).attempt, 0U) << "its node's silence is judged by SlurmdTimeout";
  EXPECT_EQ(next.job(job).state, JobState::kRunning);
}

TEST(CoreReturn, AStepThatIsOverInAMomentLeavesNoWordOfItsBeginning) {
  Rig rig;
  const JobId job = started(rig);
  const StepId step = rig.batch_step(job);
  rig.hear(0, StepRunning{step});
  end_step(rig, job, 0);
  rig.pass(Duration::seconds(3));
  for (const EventBatchRef& batch : rig.stored()) {
    for (const Event& event : batch->events) EXPECT_FALSE(holds_alternative<StepBegun>(event.body));
  }
}

TEST(CoreReturn, ALostSpoolLearnsOfAnEndingJobsStepsBeforeItsEnd) {
  Rig rig;
  const JobId job = started(rig);
  rig.core.on_agent_lost(NodeIndex(0));
  rig.done(cancel_of(job));
  rig.sent.clear();
  ASSERT_TRUE(rig.greet(Rig::hello_of(0)).has_value());
  ASSERT_EQ(rig.sent.size(), 2U);
  ASSERT_TRUE(holds_alternative<FindSteps>(rig.sent[0].second));
  EXPECT_EQ(rig.last_sent<FindSteps>().steps.size(), 1U);
  EXPECT_TRUE(holds_alternative<TerminateJob>(rig.sent[1].second))
      << "else it would be clean at once";
}

TEST(CoreReturn, AStepThatNobodyKnowsAnyMoreIsEnded) {
  Rig rig;
  const JobId job = started(rig);
  const StepId step = rig.batch_step(job);
  rig.sent.clear();
  rig.hear(1, StepRunning{StepId{JobId(77), 0, kBatchStep}, 5});
  ASSERT_EQ(rig.count_sent<TerminateJob>(1), 1U);
  EXPECT_EQ(rig.last_sent<TerminateJob>().job, JobId(77));
  rig.hear(0, StepRunning{step});
  EXPECT_EQ(rig.count_sent<TerminateJob>(0), 0U);
}

TEST(CoreReturn, NodesAreToldTheLimitWithItsGrace) {
  Rig rig(config_with(
      [](ClusterSettings& settings) { settings.over_time_limit = Duration::minutes(5); }));
  const JobId job = started(rig);
  ASSERT_GE(rig.count_sent<ChangeEnd>(0), 1U);
  EXPECT_EQ(rig.last_sent<ChangeEnd>().end_time, rig.job(job).end_time + Duration::minutes(5));
}

TEST(CoreReturn, AsOftenAsMaxBatchRequeueSaysAndNoOftener) {
  Rig rig(config_with([](ClusterSettings& settings) {
    settings.max_batch_requeue = 2;
    settings.requeue_exit = {{7, 7}};
  }));
  const JobId job = started(rig);
  for (const std::uint32_t attempt : {1U, 2U}) {
    end_step(rig, job, 7);
    ASSERT_EQ(rig.job(job).attempt, attempt);
    EXPECT_FALSE(rig.job(job).is_held()) << attempt;
    rig.pass(rig.core.state().settings().requeue_delay + Duration::seconds(1));
    rig.plan();
    ASSERT_EQ(rig.job(job).state, JobState::kRunning) << attempt;
  }
  end_step(rig, job, 7);
  EXPECT_TRUE(rig.job(job).is_held());
  EXPECT_EQ(rig.job(job).reason, PendingReason::kJobHoldMaxRequeue);
}

TEST(CoreReturn, TheRecordOfAnArrayStaysForAsLongAsAnElementIsThere) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  auto spec = spec_of();
  spec->text.set(JobText::kArray, "0-1");
  PreparedSubmit submit = submit_of(spec);
  submit.array.emplace();
  submit.array->indices = Bitmap::range(0, 2);
  const JobId record = rig.done(std::move(submit)).job;
  rig.plan();
  const auto& elements = *rig.core.state().jobs().elements(record);
  ASSERT_EQ(elements.size(), 2U);
  const JobId split = elements.begin()->second == record ? std::next(elements.begin())->second
                                                         : elements.begin()->second;
  ASSERT_EQ(rig.job(record).state, JobState::kRunning);
  ASSERT_EQ(rig.job(split).state, JobState::kRunning);
  rig.hear(rig.job(split).run->allocation->nodes.front().node.value(),
           StepRunning{rig.batch_step(split)});
  end_step(rig, record, 0);
  ASSERT_TRUE(rig.job(record).is_over());
  const Duration age = rig.core.state().settings().min_job_age;
  rig.live(age + Duration::seconds(30));
  EXPECT_NE(rig.core.state().jobs().find(record), nullptr) << "an element runs on";
  end_step(rig, split, 0);
  rig.live(age + Duration::seconds(30));
  EXPECT_EQ(rig.core.state().jobs().find(record), nullptr);
  EXPECT_EQ(rig.core.state().jobs().find(split), nullptr);
}

TEST(CoreReturn, AHoldOfARunningJobHoldsItWhenItComesBack) {
  Rig rig;
  const JobId job = started(rig);
  EXPECT_FALSE(rig.done(control_of(JobVerb::kUserHold, selector_of(job))).error);
  EXPECT_EQ(rig.job(job).state, JobState::kRunning);
  rig.done(control_of(JobVerb::kRequeue, selector_of(job)));
  rig.step_done(0, StepId{job, 0, kBatchStep}, ExitStatus::signalled(SIGTERM));
  rig.plan();
  EXPECT_EQ(rig.job(job).state, JobState::kPending);
  EXPECT_EQ(rig.job(job).flags & job_flag::kAnyHold, job_flag::kUserHeld);
  rig.done(control_of(JobVerb::kRelease, selector_of(job)));
  rig.plan();
  EXPECT_EQ(rig.job(job).state, JobState::kRunning);
}

TEST(CoreReturn, AReleaseOfWhatComesBackIsNotLost) {
  Rig rig;
  const JobId job = started(rig);
  rig.done(control_of(JobVerb::kUserHold, selector_of(job)));
  rig.done(control_of(JobVerb::kRequeue, selector_of(job)));
  ASSERT_TRUE(rig.job(job).is_completing());
  EXPECT_FALSE(rig.done(control_of(JobVerb::kRelease, selector_of(job))).outcomes[0].error);
  rig.step_done(0, StepId{job, 0, kBatchStep}, ExitStatus::signalled(SIGTERM));
  rig.plan();
  EXPECT_EQ(rig.job(job).state, JobState::kRunning);
  EXPECT_EQ(rig.job(job).attempt, 1U);
}

TEST(CoreReturn, WhatComesBackHeldIsNotReleasedBeforeItWaits) {
  Rig rig;
  const JobId job = started(rig);
  rig.done(control_of(JobVerb::kRequeueHold, selector_of(job)));
  ASSERT_TRUE(rig.job(job).is_completing());
  EXPECT_TRUE(rig.done(control_of(JobVerb::kRelease, selector_of(job))).outcomes[0].error);
  const UpdateObject update{UpdateKind::kJob, std::to_string(job.value()), {{"Priority", "100"}}};
  EXPECT_TRUE(rig.done(PreparedUpdate(update), kRoot).error) << "a priority releases as well";
}

TEST(CoreReturn, WhatComesBackHeldStaysSoWhenItIsRequeuedAgain) {
  Rig rig;
  const JobId job = started(rig);
  rig.done(control_of(JobVerb::kRequeueHold, selector_of(job)));
  EXPECT_FALSE(rig.done(control_of(JobVerb::kRequeue, selector_of(job))).outcomes[0].error);
  rig.step_done(0, StepId{job, 0, kBatchStep}, ExitStatus::signalled(SIGTERM));
  rig.plan();
  EXPECT_EQ(rig.job(job).state, JobState::kPending);
  EXPECT_NE(rig.job(job).flags & job_flag::kRequeueHeld, 0);
}

TEST(CoreReturn, WhatComesBackCanBeHeldAndReleasedMeanwhile) {
  for (const bool is_released : {false, true}) {
    Rig rig;
    const JobId job = started(rig);
    rig.done(control_of(JobVerb::kRequeue, selector_of(job)));
    ASSERT_TRUE(rig.job(job).is_completing());
    EXPECT_FALSE(rig.done(control_of(JobVerb::kUserHold, selector_of(job))).outcomes[0].error);
    if (is_released) {
      EXPECT_FALSE(rig.done(control_of(JobVerb::kRelease, selector_of(job))).outcomes[0].error);
    }
    rig.step_done(0, StepId{job, 0, kBatchStep}, ExitStatus::signalled(SIGTERM));
    rig.plan();
    EXPECT_EQ(rig.job(job).state, is_released ? JobState::kRunning : JobState::kPending);
    EXPECT_EQ((rig.job(job).flags & job_flag::kUserHeld) != 0, !is_released);
  }
}

TEST(CoreReturn, TimersOfEarlierAttemptsAreGone) {
  Rig rig;
  const JobId job = started(rig);
  const std::size_t timers = rig.core.timer_count();
  EXPECT_GT(timers, 0U);
  for (std::uint32_t attempt = 0; attempt < 3; ++attempt) {
    rig.done(control_of(JobVerb::kRequeue, selector_of(job)));
    rig.step_done(0, StepId{job, attempt, kBatchStep}, ExitStatus::signalled(SIGTERM));
    rig.plan();
    ASSERT_EQ(rig.job(job).state, JobState::kRunning);
  }
  EXPECT_EQ(rig.core.timer_count(), timers);
}

TEST(CoreReturn, AReleasedRunningJobComesBackFree) {
  Rig rig;
  const JobId job = started(rig);
  rig.done(control_of(JobVerb::kUserHold, selector_of(job)));
  rig.done(control_of(JobVerb::kRelease, selector_of(job)));
  rig.done(control_of(JobVerb::kRequeue, selector_of(job)));
  rig.step_done(0, StepId{job, 0, kBatchStep}, ExitStatus::signalled(SIGTERM));
  rig.plan();
  EXPECT_EQ(rig.job(job).state, JobState::kRunning);
}

// ---- what runs where the state has it no more ----

/// Its only job does not go back to the queue when its node is given up.
struct OverThere : Rig {
  OverThere() {
    connect_all();
    plan();
    auto spec = spec_of();
    spec->is_requeue = false;
    spec->given |= given_option::kRequeue;
    job_id = done(submit_of(spec)).job;
    step = batch_step(job_id);
    key = launch_key(step);
    hear(0, StepRunning{step});
    core.on_agent_lost(NodeIndex(0));
    pass(core.state().settings().slurmd_timeout + Duration::seconds(10));
    CHECK(job(job_id).state == JobState::kNodeFail);
    sent.clear();
  }
  bool is_usable(std::uint32_t node) const {
    return (core.state().nodes().at(NodeIndex(node)).status.conditions &
            node_condition::kNotResponding) == 0;
  }
  JobId job_id;
  StepId step;
  std::uint64_t key = 0;
};

TEST(CoreReturn, AStepOfAJobThatIsOverEndsBeforeItsNodeIsUsedAgain) {
  OverThere rig;
  rig.connect(0);  // its spool is older than the job: it names nothing
  EXPECT_TRUE(rig.is_usable(0));
  rig.hear(0, StepRunning{rig.step, rig.key});  // and then the supervisor dials in
  EXPECT_EQ(rig.count_sent<TerminateJob>(0), 1U);
  EXPECT_FALSE(rig.is_usable(0)) << "nobody else is put beside it";
  EXPECT_EQ(rig.warnings.size(), 1U);
  StepDone end;
  end.id = rig.step;
  end.launch_key = rig.key;
  end.tasks = {ExitStatus::signalled(9)};
  rig.hear(0, end);
  rig.hear(0, JobClean{rig.job_id, 0});
  EXPECT_TRUE(rig.is_usable(0));
}

TEST(CoreReturn, AStepThatHasEndedInARunningJobEndsBeforeItsNodeIsUsedAgain) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const JobId job = rig.allocate();
  const StepId id = rig.begin_step(job);
  StepDone lost;
  lost.id = id;
  lost.tasks = {ExitStatus::signalled(9)};
  lost.is_lost = true;
  rig.hear(0, lost);
  ASSERT_FALSE(rig.job(job).run->steps.at(0).is_running());
  const std::uint64_t key = rig.launch_key(id);
  rig.sent.clear();
  rig.hear(0, StepRunning{id, key});
  EXPECT_EQ(rig.count_sent<TerminateJob>(0), 0U) << "the job goes on";
  ASSERT_EQ(rig.count_sent<EndStep>(0), 1U);
  EXPECT_EQ(rig.last_sent<EndStep>().launch_key, key);
}

TEST(CoreReturn, ANodeIsFreeAgainAlsoWhenTheRunOfItsStrangerIsOver) {
  Rig rig;
  const JobId job = started(rig);
  const StepId step = rig.batch_step(job);
  const std::uint64_t theirs = rig.launch_key(step) + 1;
  rig.core.on_agent_lost(NodeIndex(0));
  rig.connect(0, {KnownStep{step, StepPhase::kRunning, theirs}});
  const auto is_marked = [&] {
    return (rig.core.state().nodes().at(NodeIndex(0)).status.conditions &
            node_condition::kNotResponding) != 0;
  };
  ASSERT_TRUE(is_marked());
  rig.done(control_of(JobVerb::kRequeue, selector_of(job)));
  rig.hear(0, JobClean{job, 0});
  ASSERT_EQ(rig.job(job).attempt, 1U);
  StepDone end;
  end.id = step;
  end.launch_key = theirs;
  end.tasks = {ExitStatus::signalled(9)};
  rig.hear(0, end);
  EXPECT_FALSE(is_marked());
}

// ---- signals ----

/// An allocation of both nodes with a step on each.
struct TwoSteps : Rig {
  TwoSteps() {
    connect_all();
    plan();
    id = allocate(2);
    one = begin_step(id, 2);
    hear(0, StepRunning{one});
    hear(1, StepRunning{one});
    pass(Duration::seconds(2));  // its begin is written down
    core.on_agent_lost(NodeIndex(1));
    sent.clear();
  }
  std::vector<SignalStep> signals(std::uint32_t node) const {
    std::vector<SignalStep> found;
    for (const auto& [to, message] : sent) {
      const auto* signal = get_if<SignalStep>(&message);
      if (signal != nullptr && to == NodeIndex(node)) found.push_back(*signal);
    }
    return found;
  }
  JobId id;
  StepId one;
};

TEST(CoreSignal, AStepThatIsCancelledEndsAlsoOnANodeThatWasAway) {
  TwoSteps rig;
  EXPECT_FALSE(rig.done(CancelStep{rig.one, SIGKILL}).error);
  ASSERT_EQ(rig.signals(0).size(), 1U);
  EXPECT_EQ(rig.signals(0).front().launch_key, rig.launch_key(rig.one))
      << "not another step's of that number";
  EXPECT_TRUE(rig.signals(1).empty());
  rig.connect(1, {KnownStep{rig.one, StepPhase::kRunning}});
  ASSERT_FALSE(rig.signals(1).empty());
  EXPECT_EQ(rig.signals(1).front().signal, SIGKILL);
}

TEST(CoreSignal, AStepThatIsCancelledEndsAlsoAfterTheControllersEnd) {
  TwoSteps rig;
  EXPECT_FALSE(rig.done(CancelStep{rig.one, SIGKILL}).error);
  Rig next(2, rig.stored());
  next.connect(0, {KnownStep{rig.one, StepPhase::kRunning}});
  ASSERT_EQ(next.count_sent<SignalStep>(0), 1U);
  EXPECT_EQ(next.last_sent<SignalStep>().signal, SIGKILL);
  EXPECT_EQ(next.job(rig.id).run->steps.at(0).cancelled_by, testing::kAlice.user);
}

TEST(CoreSignal, AStepThatIsCancelledBeforeItsNodeIsFreeDoesNotBegin) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const JobId job = rig.allocate();
  // Others' work is being ended there: launches wait.
  rig.core.on_agent_lost(NodeIndex(0));
  rig.connect(0, {KnownStep{StepId{JobId(1000), 0, kBatchStep}, StepPhase::kRunning, 5}});
  const StepId id = rig.begin_step(job);
  EXPECT_FALSE(rig.done(CancelStep{id, SIGKILL}).error);
  rig.sent.clear();
  rig.hear(0, JobClean{JobId(1000), 0});
  ASSERT_EQ(rig.count_sent<LaunchStep>(0), 1U);
  ASSERT_EQ(rig.count_sent<SignalStep>(0), 1U) << "its supervisor gives up before anything runs";
  EXPECT_EQ(rig.last_sent<SignalStep>().launch_key, rig.launch_key(id));
}

TEST(CoreSignal, OnesThatAreSentAgainAndAgainLeaveRoomForThoseOfOthers) {
  TwoSteps rig;
  for (std::ptrdiff_t i = 0; i <= NodeLink::kMissedSignalsMax; ++i)
    rig.done(CancelStep{rig.one, SIGUSR1});
  rig.done(CancelStep{rig.one, SIGUSR2});
  rig.sent.clear();
  rig.connect(1, {KnownStep{rig.one, StepPhase::kRunning}});
  ASSERT_EQ(rig.signals(1).size(), 2U);
  EXPECT_EQ(rig.signals(1)[0].signal, SIGUSR1);
  EXPECT_EQ(rig.signals(1)[1].signal, SIGUSR2);
}

/// SIGSTOP and SIGCONT undo one another: the last word counts.
TEST(CoreSignal, OnesThatRepeatStandWhereTheyWereGivenLast) {
  TwoSteps rig;
  for (const int signal : {SIGSTOP, SIGCONT, SIGSTOP})
    rig.done(CancelStep{rig.one, static_cast<std::uint16_t>(signal)});
  rig.sent.clear();
  rig.connect(1, {KnownStep{rig.one, StepPhase::kRunning}});
  ASSERT_EQ(rig.signals(1).size(), 2U);
  EXPECT_EQ(rig.signals(1)[0].signal, SIGCONT);
  EXPECT_EQ(rig.signals(1)[1].signal, SIGSTOP);
}

TEST(CoreSignal, OthersReachANodeWhenItIsBack) {
  TwoSteps rig;
  EXPECT_FALSE(rig.done(CancelStep{rig.one, SIGUSR1}).error);
  EXPECT_EQ(rig.signals(0).size(), 1U);
  rig.connect(1, {KnownStep{rig.one, StepPhase::kRunning}});
  ASSERT_EQ(rig.signals(1).size(), 1U);
  EXPECT_EQ(rig.signals(1).front().signal, SIGUSR1);
  rig.core.on_agent_lost(NodeIndex(1));
  rig.connect(1, {KnownStep{rig.one, StepPhase::kRunning}});
  EXPECT_EQ(rig.signals(1).size(), 1U) << "once";
}

TEST(CoreSignal, AWarningReachesAScriptWhoseNodeWasAway) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  auto spec = spec_of();
  spec->time_limit = Duration::minutes(1);
  spec->signal_number = SIGUSR1;
  spec->signal_seconds = 40;
  spec->signal_batch_only = true;
  const JobId job = rig.done(submit_of(spec)).job;
  rig.hear(0, StepRunning{rig.batch_step(job)});
  rig.live(Duration::seconds(18));
  rig.core.on_agent_lost(NodeIndex(0));
  rig.pass(Duration::seconds(4));
  ASSERT_NE(rig.job(job).flags & job_flag::kWarned, 0);
  EXPECT_EQ(rig.count_sent<SignalStep>(0), 0U);
  rig.connect(0, {KnownStep{rig.batch_step(job), StepPhase::kRunning}});
  ASSERT_EQ(rig.count_sent<SignalStep>(0), 1U);
  EXPECT_EQ(rig.last_sent<SignalStep>().signal, SIGUSR1);
}

TEST(CoreSignal, WhatASilentAgentDidNotHearReachesTheNext) {
  TwoSteps rig;
  rig.connect(1, {KnownStep{rig.one, StepPhase::kRunning}});
  const SignalStep unheard{rig.one, SIGUSR2, false, rig.launch_key(rig.one)};
  rig.sent.clear();
  rig.core.on_agent_lost(NodeIndex(1));
  rig.core.on_unheard(NodeIndex(1), {unheard});
  EXPECT_TRUE(rig.signals(1).empty());
  rig.connect(1, {KnownStep{rig.one, StepPhase::kRunning}});
  ASSERT_EQ(rig.signals(1).size(), 1U);
  EXPECT_EQ(rig.signals(1).front().signal, SIGUSR2);
  rig.core.on_unheard(NodeIndex(1), {unheard});  // of a connection that a newer one had replaced
  EXPECT_EQ(rig.signals(1).size(), 2U);
}

TEST(CoreSignal, WaitForStepsThatWaitForTheirNode) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const JobId job = rig.allocate();
  rig.core.on_agent_lost(NodeIndex(0));
  rig.connect(0, {KnownStep{StepId{JobId(1000), 0, kBatchStep}, StepPhase::kRunning, 5}});
  const StepId id = rig.begin_step(job);
  EXPECT_FALSE(rig.done(CancelStep{id, SIGUSR1}).error);
  EXPECT_EQ(rig.count_sent<SignalStep>(0), 0U);
  rig.sent.clear();
  rig.hear(0, JobClean{JobId(1000), 0});
  ASSERT_EQ(rig.count_sent<LaunchStep>(0), 1U);
  ASSERT_EQ(rig.count_sent<SignalStep>(0), 1U);
  EXPECT_EQ(rig.last_sent<SignalStep>().signal, SIGUSR1);
}

TEST(CoreReturn, AKnownStepThatIsOverWhileItsJobGoesOnFencesItsNode) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const JobId job = rig.allocate();
  const StepId id = rig.begin_step(job);
  const std::uint64_t key = rig.launch_key(id);
  rig.step_done(0, id, ExitStatus::exited(1));
  rig.core.on_agent_lost(NodeIndex(0));
  rig.connect(0, {KnownStep{id, StepPhase::kRunning, key}});
  EXPECT_EQ(rig.count_sent<EndStep>(0), 1U);
  EXPECT_NE(
      rig.core.state().nodes().at(NodeIndex(0)).status.conditions & node_condition::kNotResponding,
      0);
}

TEST(CoreReturn, ANodeThatIsDownBeforeItIsMarkedSilentComesBackToo) {
  Rig rig(config_with([](ClusterSettings& settings) {
    settings.slurmd_timeout = Duration::seconds(3);
    settings.return_to_service = 1;
  }));
  rig.connect_all();
  rig.pass(Duration::seconds(4));
  ASSERT_NE(rig.core.state().nodes().at(NodeIndex(0)).status.conditions & node_condition::kDown, 0);
  rig.hear(0, Heartbeat{});
  EXPECT_EQ(rig.core.state().nodes().at(NodeIndex(0)).status.conditions, 0);
}

}  // namespace
}  // namespace muster

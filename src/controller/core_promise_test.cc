// What the core promises when clocks, pauses, nodes and disks do what they like: nobody is judged
// by a pause of our own, a launch has an end, a node belongs to one cluster and one agent, nothing
// leaves memory before history has it.
#include <gtest/gtest.h>

#include <csignal>

#include "controller/testing.h"
#include "text/launch_size.h"

namespace muster {
namespace {

using testing::at;
using testing::cancel_of;
using testing::kRoot;
using testing::Rig;
using testing::spec_of;
using testing::submit_of;

/// A cluster whose only job runs on node 0.
struct Running : Rig {
  explicit Running(std::uint32_t nodes = 2) : Rig(nodes) {
    connect_all();
    plan();
    auto spec = spec_of();
    spec->time_limit = Duration::minutes(10);
    id = done(submit_of(spec)).job;
    CHECK(job(id).state == JobState::kRunning);
  }
  void confirm() { hear(0, StepRunning{batch_step(id)}); }
  bool is_drained(std::uint32_t node) const {
    return (core.state().nodes().at(NodeIndex(node)).status.conditions & node_condition::kDrain) !=
           0;
  }
  const std::string& reason(std::uint32_t node) const {
    return core.state().nodes().at(NodeIndex(node)).status.reason;
  }
  JobId id;
};

// ---- pauses ----

TEST(CorePause, AStoppedControllerJudgesNobodyByItsOwnPause) {
  Running rig;
  rig.confirm();
  rig.stand_still(Duration::minutes(10));
  EXPECT_EQ(rig.job(rig.id).state, JobState::kRunning);
  EXPECT_EQ(rig.core.state().nodes().at(NodeIndex(0)).status.conditions, 0);
  // Silence is counted from here on.
  rig.pass(Duration::seconds(4));
  EXPECT_EQ(rig.core.state().nodes().at(NodeIndex(0)).status.conditions, 0);
  rig.pass(Duration::seconds(2));
  EXPECT_EQ(rig.core.state().nodes().at(NodeIndex(0)).status.conditions,
            node_condition::kNotResponding);
}

TEST(CorePause, AnAllocationOutlivesAPause) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const JobId id = rig.allocate();
  rig.stand_still(Duration::minutes(10));
  rig.pass(Duration::seconds(50));
  EXPECT_FALSE(is_finished(rig.job(id).state));
  rig.pass(Duration::seconds(15));
  EXPECT_EQ(rig.job(id).state, JobState::kCancelled)
      << "its client has not been heard for a whole lease";
}

TEST(CorePause, AnEndThatWasOnItsWayComesBeforeTheLimit) {
  Running rig;
  rig.confirm();
  rig.stand_still(Duration::minutes(20));  // the limit of ten minutes is long past
  EXPECT_EQ(rig.job(rig.id).state, JobState::kRunning);
  rig.step_done(0, rig.batch_step(rig.id));
  EXPECT_EQ(rig.job(rig.id).state, JobState::kCompleted);
}

TEST(CorePause, TheLimitHoldsAllTheSame) {
  Running rig;
  rig.confirm();
  rig.stand_still(Duration::minutes(20));
  rig.pass(Duration::seconds(3));
  EXPECT_EQ(rig.job(rig.id).state, JobState::kTimeout);
}

TEST(CorePause, AStartHearsTheNodesBeforeItJudges) {
  Running rig;
  rig.confirm();
  auto stored = rig.stored();
  Rig late(testing::config_of(2), stored, Duration::minutes(20));
  late.pass(Duration::seconds(2));
  EXPECT_EQ(late.job(rig.id).state, JobState::kRunning) << "node 0 has not registered yet";
  late.connect(0, {KnownStep{late.batch_step(rig.id), StepPhase::kEnded}});
  late.step_done(0, late.batch_step(rig.id));
  EXPECT_EQ(late.job(rig.id).state, JobState::kCompleted);
}

// ---- the clock ----

TEST(CoreClock, AStepMovesWhatRunsAlong) {
  Running rig;
  rig.confirm();
  const Duration left = rig.job(rig.id).end_time - rig.now;
  for (const Duration step : {Duration::hours(24 * 30), Duration::hours(-1)}) {
    Rig next(testing::config_of(2), rig.stored(), Duration(), CoreStart{"", step});
    EXPECT_EQ(next.core.state().time(), rig.core.state().time() + step);
    EXPECT_EQ(next.job(rig.id).end_time - next.now, left)
        << "the limit is neither nearer nor farther";
    EXPECT_EQ(next.job(rig.id).submit_time, rig.job(rig.id).submit_time + step);
    next.connect(0, {KnownStep{next.batch_step(rig.id), StepPhase::kRunning}});
    next.connect(1);
    next.hear(0, StepRunning{next.batch_step(rig.id)});
    next.live(Duration::minutes(9));
    EXPECT_EQ(next.job(rig.id).state, JobState::kRunning);
    next.live(Duration::minutes(2));
    EXPECT_EQ(next.job(rig.id).state, JobState::kTimeout);
  }
}

TEST(CoreClock, AStepLeavesTimesThatPeopleGave) {
  Rig rig;
  auto spec = spec_of();
  spec->begin_time = at(5000);
  const JobId id = rig.done(submit_of(spec)).job;
  Rig next(testing::config_of(2), rig.stored(), Duration(), CoreStart{"", Duration::seconds(3000)});
  EXPECT_EQ(next.job(id).eligible_time, at(5000));
}

TEST(CoreClock, AStepForgetsNoAnswer) {
  Rig rig;
  const RequestId request{5, 5};
  const JobId id = rig.done(submit_of(spec_of()), testing::kAlice, request).job;
  Rig next(testing::config_of(2), rig.stored(), Duration(),
           CoreStart{"", Duration::hours(24 * 30)});
  EXPECT_EQ(next.done(submit_of(spec_of()), testing::kAlice, request).job, id);
  EXPECT_EQ(next.core.state().jobs().size(), 1U);
}

TEST(CoreClock, AStepNeitherHastensNorDelaysARetry) {
  const auto config = testing::config_of(2);
  config->settings.requeue_delay = Duration::minutes(2);
  Rig rig(config);
  rig.connect_all();
  rig.plan();
  const JobId id = rig.done(submit_of(spec_of())).job;
  rig.live(Duration::seconds(62));
  ASSERT_EQ(rig.job(id).attempt, 1U) << "its node has not started it";
  const Duration left = rig.job(id).eligible_time - rig.core.state().time();
  ASSERT_GT(left, Duration::minutes(1));
  for (const Duration step : {Duration::hours(24 * 30), Duration::hours(-1)}) {
    Rig next(config, rig.stored(), Duration(), CoreStart{"", step});
    EXPECT_EQ(next.job(id).eligible_time - next.core.state().time(), left);
  }
}

// ---- launches ----

TEST(CoreLaunch, WithoutAProcessInTimeTheJobGoesBackAndTheNodeIsDrained) {
  Running rig;
  rig.live(Duration::seconds(58));
  EXPECT_EQ(rig.job(rig.id).attempt, 0U);
  EXPECT_FALSE(rig.is_drained(0));
  rig.live(Duration::seconds(3));
  EXPECT_TRUE(rig.is_drained(0));
  EXPECT_NE(rig.reason(0).find("did not start it within 60 s"), std::string::npos) << rig.reason(0);
  EXPECT_EQ(rig.job(rig.id).attempt, 1U);
  EXPECT_FALSE(rig.job(rig.id).is_held()) << "it was not the job's fault";
  rig.live(rig.core.state().settings().requeue_delay + Duration::seconds(1));
  rig.plan();
  ASSERT_EQ(rig.job(rig.id).state, JobState::kRunning);
  EXPECT_EQ(rig.job(rig.id).run->allocation->nodes.front().node, NodeIndex(1));
  rig.live(Duration::seconds(5));
  EXPECT_TRUE(rig.is_drained(0)) << "not for as long as nobody has looked at it";
}

TEST(CoreLaunch, ItsTimeIsTheSites) {
  const auto config = testing::config_of(1);
  config->settings.launch_timeout = Duration::seconds(7);
  Rig rig(config);
  rig.connect_all();
  const JobId job = rig.done(submit_of(spec_of())).job;
  rig.plan();
  rig.live(Duration::seconds(6));
  EXPECT_EQ(rig.job(job).attempt, 0U);
  rig.live(Duration::seconds(2));
  EXPECT_EQ(rig.job(job).attempt, 1U);
  const std::string& reason = rig.core.state().nodes().at(NodeIndex(0)).status.reason;
  EXPECT_NE(reason.find("did not start it within 7 s"), std::string::npos) << reason;
}

TEST(CoreLaunch, OneThatIsConfirmedHasNoDeadline) {
  Running rig;
  rig.confirm();
  rig.live(Duration::seconds(100));
  EXPECT_EQ(rig.job(rig.id).state, JobState::kRunning);
}

TEST(CoreLaunch, APartThatBeganAndEndedStandsForNoOtherPart) {
  Rig rig(3);
  rig.connect_all();
  rig.plan();
  auto spec = spec_of();
  spec->kind = JobKind::kRun;
  spec->request.edit()->min_nodes = 3;
  spec->request.edit()->task_count = 3;
  PreparedSubmit submit = submit_of(std::move(spec));
  auto step = std::make_shared<StepSpec>();
  step->min_nodes = step->task_count = 3;
  submit.first_step = step;
  const JobId job = rig.done(std::move(submit)).job;
  const StepId id{job, 0, 0};
  StepDone part;
  part.id = id;
  part.tasks = {ExitStatus::exited(0)};
  rig.hear(0, StepRunning{id});
  rig.hear(0, part);
  rig.hear(1, StepRunning{id});
  rig.live(Duration::seconds(62));
  const auto conditions = [&](std::uint32_t node) {
    return rig.core.state().nodes().at(NodeIndex(node)).status.conditions;
  };
  EXPECT_NE(conditions(2) & node_condition::kDrain, 0) << "nothing was heard of its part";
  EXPECT_EQ(conditions(0) & node_condition::kDrain, 0);
}

/// One node, on which the only supervisor of a job's run is lost, run after run.
struct Losing : Rig {
  Losing() : Rig(1) {
    connect_all();
    plan();
  }
  JobId submit() { return done(submit_of(spec_of())).job; }
  void lose(JobId job, const std::string& error = "") {
    plan();
    CHECK(this->job(job).state == JobState::kRunning);
    StepDone lost;
    lost.id = batch_step(job);
    lost.tasks = {ExitStatus::signalled(9)};
    lost.is_lost = lost.is_node_fault = true;
    lost.error = error;
    hear(0, lost);
    hear(0, lost);  // told again
    hear(0, JobClean{job, lost.id.attempt});
    live(core.state().settings().requeue_delay + Duration::seconds(1));
  }
  const NodeStatus& status() const { return core.state().nodes().at(NodeIndex(0)).status; }
  bool is_drained() const { return (status().conditions & node_condition::kDrain) != 0; }
};

TEST(CoreLaunch, ANodeThatLosesEachSupervisorIsDrained) {
  Losing rig;
  const JobId first = rig.submit();
  for (int i = 0; i < 4; ++i) rig.lose(first);
  rig.done(cancel_of(first));
  EXPECT_FALSE(rig.is_drained()) << "it may be the job's own fault";
  const JobId second = rig.submit();
  rig.lose(second);
  EXPECT_TRUE(rig.is_drained());
  EXPECT_TRUE(rig.job(second).is_pending()) << "the job waits for a node that works";
  EXPECT_FALSE(rig.job(second).is_held());
  EXPECT_NE(rig.status().reason.find("supervisors of 5 steps in a row"), std::string::npos)
      << rig.status().reason;
}

TEST(CoreLaunch, AJobThatLosesEachOfItsSupervisorsIsHeld) {
  Losing rig;
  const JobId job = rig.submit();
  for (int i = 0; i < 4; ++i) rig.lose(job);
  EXPECT_FALSE(rig.job(job).is_held());
  rig.lose(job);
  EXPECT_TRUE(rig.job(job).is_held());
  EXPECT_FALSE(rig.is_drained()) << "others run there";
}

TEST(CoreLaunch, WhatANodeRefusesSaysNothingOfItsSupervisors) {
  Losing rig;
  for (int i = 0; i < 3; ++i) {
    const JobId job = rig.submit();
    for (int run = 0; run < 3; ++run) rig.lose(job, "node n0 has ended a run of that number");
    rig.done(cancel_of(job));
  }
  EXPECT_FALSE(rig.is_drained());
}

TEST(CoreLaunch, LossesOfOneMomentCountOnceAndAnEndBetweenThemEndsTheCount) {
  Rig rig(1);
  rig.connect_all();
  rig.plan();
  auto spec = spec_of();
  spec->kind = JobKind::kInteractive;
  const JobId jobs[2] = {rig.done(submit_of(spec)).job, rig.done(submit_of(spec)).job};
  const auto conditions = [&] {
    return rig.core.state().nodes().at(NodeIndex(0)).status.conditions;
  };
  int turn = 0;
  const auto end_one = [&](bool is_lost) {
    const auto step = std::make_shared<StepSpec>();
    StepDone end;
    end.id = *rig.done(PreparedStep{jobs[turn++ % 2], step, {}}).step;
    rig.pass(Duration::seconds(1));
    end.tasks = {is_lost ? ExitStatus::signalled(9) : ExitStatus::exited(0)};
    end.is_lost = end.is_node_fault = is_lost;
    rig.hear(0, end);
    rig.pass(Duration::seconds(1));
  };
  for (int i = 0; i < 4; ++i) end_one(true);
  end_one(false);
  for (int i = 0; i < 4; ++i) end_one(true);
  EXPECT_EQ(conditions() & node_condition::kDrain, 0);
  end_one(true);
  EXPECT_NE(conditions() & node_condition::kDrain, 0);
}

TEST(CoreLaunch, AScriptThatCannotBeReadEndsTheJobWithTheReason) {
  Running rig;
  Rig next(2, rig.stored());
  next.connect_all();
  ASSERT_EQ(next.fetched.size(), 1U);
  next.core.on_blob(next.fetched[0], fail(ErrorCode::kUnavailable, "disk I/O error"));
  next.core.end_turn(next.now);
  next.flush();
  EXPECT_EQ(next.job(rig.id).state, JobState::kFailed);
  EXPECT_EQ(next.job(rig.id).reason, PendingReason::kJobLaunchFailure);
  ASSERT_NE(next.job(rig.id).detail, nullptr);
  EXPECT_NE(next.job(rig.id).detail->find("disk I/O error"), std::string::npos);
}

TEST(CoreLaunch, AScriptThatIsDamagedIsSharedWithNobody) {
  Rig rig;
  const auto with_script = [](char fill) {
    PreparedSubmit submit = submit_of(spec_of());
    submit.script =
        PreparedBlob{std::string(32, fill), std::make_shared<const std::string>("#!/bin/sh\n")};
    return submit;
  };
  const JobId first = rig.done(with_script('s')).job;
  const JobId second = rig.done(with_script('s')).job;
  const BlobId shared = rig.job(first).spec->script;
  EXPECT_EQ(rig.job(second).spec->script, shared);
  Rig next(2, rig.stored());
  next.connect_all();
  next.plan();
  ASSERT_FALSE(next.fetched.empty());
  next.core.on_blob(shared, fail(ErrorCode::kCorruption, "blob 1 is damaged"));
  next.core.end_turn(next.now);
  next.flush();
  EXPECT_EQ(next.job(first).state, JobState::kFailed);
  const JobId third = next.done(with_script('s')).job;
  EXPECT_NE(next.job(third).spec->script, shared) << "it has brought the right bytes";
  const JobId fourth = next.done(with_script('s')).job;
  EXPECT_EQ(next.job(fourth).spec->script, next.job(third).spec->script);
}

TEST(CoreLaunch, AFaultOfTheNodeDrainsItAndGoesByItself) {
  Running rig;
  Heartbeat sick;
  sick.fault = "cannot write the spool: No space left on device";
  rig.hear(0, sick);
  StepDone refused;
  refused.id = rig.batch_step(rig.id);
  refused.tasks = {ExitStatus::exited(1)};
  refused.error = sick.fault;
  refused.is_node_fault = true;
  rig.hear(0, refused);
  EXPECT_TRUE(rig.is_drained(0));
  EXPECT_NE(rig.reason(0).find("No space left"), std::string::npos);
  EXPECT_EQ(rig.job(rig.id).attempt, 1U);
  EXPECT_FALSE(rig.job(rig.id).is_held());
  rig.hear(0, Heartbeat{});
  EXPECT_FALSE(rig.is_drained(0));
}

TEST(CoreLaunch, AnotherFaultBesideAFullDiskIsForAnOperator) {
  Running rig;
  Heartbeat full;
  full.fault = "no room";
  rig.hear(0, full);
  StepDone refused;
  refused.id = rig.batch_step(rig.id);
  refused.tasks = {ExitStatus::exited(1)};
  refused.error = "cannot make the cgroup";
  refused.is_node_fault = true;
  rig.hear(0, refused);
  rig.hear(0, Heartbeat{});
  EXPECT_TRUE(rig.is_drained(0));
}

TEST(CoreLaunch, AFullDiskThatASupervisorMeetsGoesByItself) {
  Running rig;
  StepDone refused;
  refused.id = rig.batch_step(rig.id);
  refused.tasks = {ExitStatus::exited(1)};
  refused.error = "could not write slurm_script: No space left on device";
  refused.is_node_fault = refused.may_pass = true;
  rig.hear(0, refused);
  EXPECT_TRUE(rig.is_drained(0));
  EXPECT_EQ(rig.reason(0), "Node fault: " + refused.error);
  rig.hear(0, Heartbeat{});
  EXPECT_FALSE(rig.is_drained(0));
}

// ---- who is who ----

TEST(CoreIdentity, ASecondAgentIsRefusedWhileTheFirstLives) {
  Rig rig;
  RegisterNode first = Rig::hello_of(0);
  first.agent_id = 1;
  RegisterNode second = first;
  second.agent_id = 2;
  ASSERT_TRUE(rig.greet(first).has_value());
  EXPECT_EQ(rig.greet(second).error().code, ErrorCode::kAlreadyExists);
  EXPECT_TRUE(rig.greet(first).has_value()) << "the same agent may come again";
  rig.pass(Duration::seconds(4));
  rig.hear(0, Heartbeat{});
  rig.pass(Duration::seconds(4));
  EXPECT_FALSE(rig.greet(second).has_value());
  rig.pass(Duration::seconds(2));  // the first has been silent for too long
  EXPECT_TRUE(rig.greet(second).has_value());
  rig.core.on_agent_lost(NodeIndex(0));
  EXPECT_TRUE(rig.greet(first).has_value());
}

TEST(CoreIdentity, AnotherMachineTakesNoNodeWhoseOwnMayComeBack) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const JobId job = rig.done(submit_of(spec_of())).job;
  RegisterNode stranger = Rig::hello_of(0);
  stranger.boot_id = "another boot";
  stranger.machine_id = "another machine";
  stranger.agent_id = 2;
  rig.core.on_agent_lost(NodeIndex(0));
  const auto refused = rig.greet(stranger);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(rig.job(job).state, JobState::kRunning);
  EXPECT_TRUE(rig.greet(Rig::hello_of(0)).has_value()) << "the node's own agent is back";
  rig.core.on_agent_lost(NodeIndex(0));
  rig.pass(Duration::seconds(6));
  EXPECT_FALSE(rig.greet(stranger).has_value()) << "it may only be starting anew";
  rig.pass(rig.core.state().settings().slurmd_timeout);
  EXPECT_TRUE(rig.greet(stranger).has_value())
      << "its own machine has been silent for too long: this one has taken its place";
  EXPECT_TRUE(rig.job(job).is_pending());
}

TEST(CoreIdentity, AnOlderStateLeavesTheIdsThatANodeKnows) {
  Rig rig;
  RegisterNode hello = Rig::hello_of(0);
  hello.cluster_id = rig.core.identity().cluster_id;
  hello.epoch = rig.core.identity().epoch;
  hello.job_floor = JobId(500);
  hello.steps = {KnownStep{StepId{JobId(500), 0, kBatchStep}, StepPhase::kRunning}};
  ASSERT_TRUE(rig.greet(hello).has_value());
  EXPECT_EQ(rig.warnings.size(), 1U);
  EXPECT_EQ(rig.core.state().next_job(), JobId(501));
  EXPECT_EQ(rig.count_sent<TerminateJob>(0), 1U) << "nobody knows that job any more";
}

TEST(CoreIdentity, AnotherRunOfTheSameNumberIsNotTakenForOurs) {
  // An older copy of the state was put back: it has given a number again that a process on the node
  // goes by.
  Running rig;
  rig.core.on_agent_lost(NodeIndex(0));
  const std::uint64_t ours = rig.launch_key(rig.batch_step(rig.id));
  const std::size_t launches = rig.count_sent<LaunchStep>(0);
  rig.connect(0, {KnownStep{rig.batch_step(rig.id), StepPhase::kRunning, ours + 1}});
  EXPECT_EQ(rig.warnings.size(), 1U);
  ASSERT_EQ(rig.count_sent<EndStep>(0), 1U);
  EXPECT_EQ(rig.last_sent<EndStep>().launch_key, ours + 1);
  EXPECT_EQ(rig.count_sent<TerminateJob>(0), 0U) << "the run itself is ours and goes on";
  EXPECT_EQ(rig.count_sent<LaunchStep>(0), launches) << "not beside the other";
  StepDone theirs;
  theirs.id = rig.batch_step(rig.id);
  theirs.tasks = {ExitStatus::exited(0)};
  theirs.launch_key = ours + 1;
  rig.hear(0, theirs);
  EXPECT_EQ(rig.count_sent<AcknowledgeStep>(0), 1U);
  EXPECT_EQ(rig.job(rig.id).state, JobState::kRunning) << "another's end is not ours";
  rig.hear(1, theirs);
  EXPECT_EQ(rig.count_sent<AcknowledgeStep>(1), 1U) << "nor of a node where ours does not run";
  EXPECT_EQ(rig.count_sent<LaunchStep>(0), launches + 1) << "ours does not run there";
  EXPECT_EQ(rig.last_sent<LaunchStep>().launch_key, ours);
  theirs.launch_key = ours;
  theirs.is_lost = theirs.is_node_fault = true;
  rig.hear(0, theirs);
  EXPECT_EQ(rig.job(rig.id).attempt, 1U)
      << "the node could not start it under that number: it begins anew";
  EXPECT_FALSE(is_finished(rig.job(rig.id).state));
}

TEST(CoreIdentity, AStepOfALostBranchEndsAloneAndItsNumberIsFree) {
  // The job runs in both branches; its step 0 was created in the one that is lost, and node 0 still
  // runs it.
  Rig rig(2);
  rig.connect_all();
  rig.plan();
  const JobId job = rig.allocate(2);
  const auto copy = rig.stored();
  const StepId id = rig.begin_step(job, 2);
  const std::uint64_t theirs = rig.launch_key(id);
  Rig next(2, copy);
  next.connect(0, {KnownStep{id, StepPhase::kRunning, theirs}});
  next.connect(1);
  EXPECT_EQ(next.warnings.size(), 1U);
  EXPECT_EQ(next.count_sent<EndStep>(0), 1U);
  EXPECT_EQ(next.count_sent<TerminateJob>(0), 0U);
  ASSERT_EQ(next.begin_step(job, 2), id) << "the number is given again";
  EXPECT_EQ(next.count_sent<LaunchStep>(0), 0U) << "not before the other is gone";
  EXPECT_EQ(next.count_sent<LaunchStep>(1), 1U);
  StepDone end;
  end.id = id;
  end.launch_key = theirs;
  end.tasks = {ExitStatus::exited(0)};
  next.hear(0, end);
  ASSERT_EQ(next.count_sent<AcknowledgeStep>(0), 1U);
  EXPECT_EQ(next.last_sent<AcknowledgeStep>().launch_key, theirs);
  EXPECT_NE(next.launch_key(id), theirs);
  EXPECT_EQ(next.count_sent<LaunchStep>(0), 1U);
  EXPECT_TRUE(next.job(job).run->steps.at(0).is_running()) << "another's end is not ours";
  end.launch_key = 0;  // ours
  end.tasks = {ExitStatus::exited(5)};
  next.hear(0, end);
  next.hear(1, end);
  EXPECT_EQ(next.job(job).run->steps.at(0).exit, ExitStatus::exited(5));
  EXPECT_EQ(next.job(job).state, JobState::kRunning);
}

TEST(CoreIdentity, AnAgentOfAnOlderVersionEndsAStepOfALostBranchByItsNumber) {
  Running rig;
  rig.core.on_agent_lost(NodeIndex(0));
  RegisterNode hello = Rig::hello_of(0);
  hello.protocol = 0;
  hello.cluster_id = rig.core.identity().cluster_id;
  const std::uint64_t ours = rig.launch_key(rig.batch_step(rig.id));
  hello.steps = {KnownStep{rig.batch_step(rig.id), StepPhase::kRunning, ours + 1}};
  ASSERT_TRUE(rig.greet(hello).has_value());
  EXPECT_EQ(rig.count_sent<EndStep>(0), 0U) << "it does not know that order";
  ASSERT_EQ(rig.count_sent<SignalStep>(0), 1U);
  EXPECT_EQ(rig.last_sent<SignalStep>().id, rig.batch_step(rig.id));
  EXPECT_EQ(rig.last_sent<SignalStep>().signal, SIGKILL);
}

TEST(CoreIdentity, AnEndOfALostBranchIsAcknowledgedAlsoWhereOursHasNoPart) {
  Running rig;
  StepDone end;
  end.id = StepId{rig.id, 0, 0};
  end.launch_key = 12345;
  end.tasks = {ExitStatus::exited(0)};
  rig.hear(1, end);
  EXPECT_EQ(rig.count_sent<AcknowledgeStep>(1), 1U);
}

TEST(CoreIdentity, StepsOfOneMomentHaveKeysOfTheirOwn) {
  Rig rig(2);
  rig.connect_all();
  const JobId first = rig.done(submit_of(spec_of())).job;
  const JobId second = rig.done(submit_of(spec_of())).job;
  rig.plan();  // starts both in one turn
  const auto key = [&](JobId job) { return rig.launch_key(rig.batch_step(job)); };
  ASSERT_NE(key(first), 0U);
  EXPECT_NE(key(first), key(second));
  EXPECT_NE(key(first), rig.job(first).run->run_key);
  const std::uint64_t before = key(first);
  rig.done(testing::control_of(JobVerb::kRequeue, testing::selector_of(first)));
  rig.step_done(rig.job(first).run->allocation->nodes.front().node.value(),
                StepId{first, 0, kBatchStep}, ExitStatus::signalled(SIGTERM));
  rig.live(rig.core.state().settings().requeue_delay + Duration::seconds(1));
  rig.plan();
  ASSERT_EQ(rig.job(first).state, JobState::kRunning);
  EXPECT_NE(key(first), before);
}

TEST(CoreIdentity, IdsThatHistoryKnowsAreNotGivenAgain) {
  CoreStart beginning;
  beginning.job_floor = JobId(500);
  Rig rig(testing::config_of(2), {}, Duration(), beginning);
  EXPECT_EQ(rig.core.state().next_job(), JobId(501));
  beginning.job_floor = JobId(20);
  Rig next(testing::config_of(2), rig.stored(), Duration(), beginning);
  EXPECT_EQ(next.core.state().next_job(), JobId(501));
}

TEST(CoreIdentity, NothingIsLaunchedBesideWhatIsBeingEnded) {
  Running rig;
  rig.core.on_agent_lost(NodeIndex(0));
  const std::size_t launches = rig.count_sent<LaunchStep>(0);
  rig.connect(0, {KnownStep{StepId{JobId(1000), 0, kBatchStep}, StepPhase::kRunning, 5}});
  EXPECT_EQ(rig.count_sent<LaunchStep>(0), launches)
      << "its CPUs may be in use by what nobody knows";
  rig.hear(0, JobClean{JobId(1000), 0});
  EXPECT_EQ(rig.count_sent<LaunchStep>(0), launches + 1);
}

TEST(CoreIdentity, EveryRunHasAKeyOfItsOwn) {
  Running rig;
  const JobId other = rig.done(submit_of(spec_of())).job;
  EXPECT_NE(rig.job(other).run->run_key, rig.job(rig.id).run->run_key);
  Running again;
  again.pass(Duration::seconds(1));
  const JobId later = again.done(submit_of(spec_of())).job;
  EXPECT_EQ(later, other) << "the same numbers";
  EXPECT_NE(again.job(later).run->run_key, rig.job(other).run->run_key) << "at another time";
}

TEST(CoreIdentity, ANodeThatHasMetANewerLeaderMakesUsLeadAnew) {
  Rig rig;
  RegisterNode hello = Rig::hello_of(0);
  hello.cluster_id = rig.core.identity().cluster_id;
  hello.epoch = Epoch(77);
  EXPECT_EQ(rig.greet(hello).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(rig.met_epoch, Epoch(77));
}

TEST(CoreIdentity, WhatNoLostStateExplainsIsNotBelieved) {
  // Ids and epochs that are skipped are gone for good: one damaged spool must not use them up.
  Rig rig;
  RegisterNode hello = Rig::hello_of(0);
  hello.cluster_id = rig.core.identity().cluster_id;
  hello.epoch = rig.core.identity().epoch;
  const JobId next = rig.core.state().next_job();
  for (const std::uint32_t floor : {UINT32_MAX, UINT32_MAX - 1, next.value() + 100'000'000}) {
    hello.job_floor = JobId(floor);
    const auto refused = rig.greet(hello);
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().text().find("not believed"), std::string::npos)
        << refused.error().text();
    EXPECT_EQ(rig.core.state().next_job(), next);
  }
  hello.job_floor = {};
  hello.epoch = Epoch(UINT64_MAX);
  EXPECT_EQ(rig.greet(hello).error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(rig.met_epoch, Epoch(0));
  hello.epoch = rig.core.identity().epoch;
  hello.job_floor = JobId(next.value() + 99'999'999);
  EXPECT_TRUE(rig.greet(hello).has_value());
  // Nor is one node believed twice.
  rig.core.on_agent_lost(NodeIndex(0));
  hello.job_floor = JobId(next.value() + 100'000'000);
  EXPECT_EQ(rig.greet(hello).error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(rig.core.state().next_job(), JobId(next.value() + 100'000'000));
  RegisterNode other = Rig::hello_of(1);
  other.cluster_id = hello.cluster_id;
  other.job_floor = hello.job_floor;
  EXPECT_TRUE(rig.greet(other).has_value());
}

TEST(CoreIdentity, StepsOfAnotherClusterAreNotTakenForOurs) {
  Running rig;
  RegisterNode stranger = Rig::hello_of(1);
  stranger.cluster_id = "another";
  stranger.epoch = Epoch(900);
  stranger.job_floor = JobId(40);
  stranger.steps = {KnownStep{rig.batch_step(rig.id), StepPhase::kRunning}};
  rig.core.on_agent_lost(NodeIndex(1));
  EXPECT_EQ(rig.greet(stranger).error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(rig.met_epoch, Epoch(0)) << "another cluster's epochs say nothing of ours";
  EXPECT_EQ(rig.core.state().next_job(), JobId(41));
  stranger.steps.clear();
  EXPECT_TRUE(rig.greet(stranger).has_value());
}

TEST(CoreLaunch, TheChosenPartitionsDefaultMemoryIsTold) {
  auto config = std::make_shared<ClusterConfig>(*testing::config_of(2));
  config->partitions[0].default_memory_per_cpu_mib = 50;
  config->partitions[1].default_memory_per_cpu_mib = 100;
  Rig rig(config);
  rig.connect_all();
  rig.plan();
  for (const auto& [names, memory] :
       {std::pair("main,other", 50U), std::pair("other,main", 100U)}) {
    auto spec = spec_of();
    spec->text.set(JobText::kPartition, names);
    const JobId job = rig.done(submit_of(spec)).job;
    ASSERT_EQ(rig.job(job).state, JobState::kRunning);
    const JobSpec& told = *rig.last_sent<LaunchStep>().job;
    EXPECT_EQ(told.request->memory_scope, MemoryScope::kPerCpu);
    EXPECT_EQ(told.request->memory_mib, rig.job(job).partition == PartitionIndex(0) ? 50U : 100U);
    EXPECT_EQ(told.request->memory_mib, memory);
  }
}

TEST(CoreIdentity, OrdersSayWhoseTheyAre) {
  Running rig;
  const auto& launch = rig.last_sent<LaunchStep>();
  EXPECT_EQ(launch.cluster_id, rig.core.identity().cluster_id);
  EXPECT_FALSE(launch.cluster_id.empty());
  EXPECT_EQ(launch.epoch, rig.core.identity().epoch);
  EXPECT_EQ(launch.time_left, Duration::minutes(10));
  Rig next(2, rig.stored());
  EXPECT_EQ(next.core.identity().cluster_id, rig.core.identity().cluster_id);
  EXPECT_GT(next.core.identity().epoch, rig.core.identity().epoch);
}

// ---- history ----

TEST(CoreEviction, WaitsUntilHistoryHasTheEnd) {
  Running rig;
  rig.is_history_behind = true;
  rig.step_done(0, rig.batch_step(rig.id));
  ASSERT_TRUE(rig.job(rig.id).is_over());
  rig.pass(Duration::minutes(30));
  ASSERT_NE(rig.core.state().jobs().find(rig.id), nullptr);
  rig.is_history_behind = false;
  rig.flush();
  rig.pass(Duration::seconds(2));
  EXPECT_EQ(rig.core.state().jobs().find(rig.id), nullptr);
}

TEST(CoreEviction, WhatEndedBeforeAStartNeedsNoFurtherEndToLeave) {
  Running rig;
  rig.step_done(0, rig.batch_step(rig.id));
  ASSERT_TRUE(rig.job(rig.id).is_over());
  // History hears of the start with the next end.
  Rig next(testing::config_of(2), rig.stored(), Duration(), CoreStart(), true);
  ASSERT_NE(next.core.state().jobs().find(rig.id), nullptr);
  next.core.on_history(rig.core.state().seq());
  next.pass(next.core.state().settings().min_job_age + Duration::seconds(2));
  EXPECT_EQ(next.core.state().jobs().find(rig.id), nullptr);
}

// ---- the first second ----

TEST(CoreIdentity, NoCommandIsTakenUpBeforeTheNodesThatWereThereHaveBeenHeard) {
  Running rig;
  Rig next(2, rig.stored());
  EXPECT_TRUE(next.core.awaits_nodes(next.now));
  next.connect(0);
  EXPECT_TRUE(next.core.awaits_nodes(next.now));
  next.connect(1);
  EXPECT_FALSE(next.core.awaits_nodes(next.now));
  // One that does not come holds nobody for longer than a second.
  Rig other(2, rig.stored());
  EXPECT_TRUE(other.core.awaits_nodes(other.now + Duration::milliseconds(900)));
  EXPECT_FALSE(other.core.awaits_nodes(other.now + Duration::seconds(1)));
  // A state without a job may be all that is left of an old cluster, whose nodes know which ids
  // were given.
  Rig fresh(2);
  EXPECT_TRUE(fresh.core.awaits_nodes(fresh.now + Duration::milliseconds(4900)));
  EXPECT_FALSE(fresh.core.awaits_nodes(fresh.now + Duration::seconds(5)));
  fresh.connect_all();
  EXPECT_FALSE(fresh.core.awaits_nodes(fresh.now));
}

TEST(CoreLaunch, OneThatOneAgentDoesNotTakeIsNotTheOtherNodesFault) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const JobId job = rig.allocate(2);
  const StepId step = rig.begin_step(job, 2);
  LaunchStep launch = rig.last_sent<LaunchStep>();
  ASSERT_EQ(launch.id, step);
  rig.core.on_refused(NodeIndex(1), launch, "no memory");
  rig.pass(Duration::seconds(1));
  const auto is_drained = [&](std::uint32_t node) {
    return (rig.core.state().nodes().at(NodeIndex(node)).status.conditions &
            node_condition::kDrain) != 0;
  };
  EXPECT_FALSE(is_drained(0));
  EXPECT_TRUE(is_drained(1));
  const StepId next = rig.begin_step(job, 2);
  launch = rig.last_sent<LaunchStep>();
  rig.hear(1, StepRunning{next, launch.launch_key});
  rig.core.on_refused(NodeIndex(1), launch, "no memory");
  rig.pass(Duration::seconds(1));
  EXPECT_TRUE(rig.job(job).run->find_step(next.step)->is_running()) << "it was told again";
}

/// Its message is lost: what was to be started ends at once, with what the agent said.
TEST(CoreLaunch, OneThatAnAgentDoesNotTakeEndsAtOnce) {
  for (const bool is_too_large : {false, true}) {
    Rig rig;
    rig.connect_all();
    const JobId job = rig.done(submit_of(spec_of())).job;
    rig.plan();
    LaunchStep launch = rig.last_sent<LaunchStep>();
    const std::size_t bytes = is_too_large ? kLaunchBytesMax : 10;
    launch.script = std::make_shared<const std::string>(bytes, '#');
    const NodeIndex node = rig.job(job).run->allocation->nodes.front().node;
    rig.core.on_refused(node, launch, "text blob too big");
    rig.pass(Duration::seconds(1));
    const bool is_drained =
        (rig.core.state().nodes().at(node).status.conditions & node_condition::kDrain) != 0;
    EXPECT_EQ(is_drained, !is_too_large) << "what is too large is too large everywhere";
    EXPECT_EQ(is_finished(rig.job(job).state), is_too_large);
    if (is_too_large) {
      EXPECT_EQ(rig.job(job).state, JobState::kFailed);
      ASSERT_NE(rig.job(job).detail, nullptr);
      EXPECT_NE(rig.job(job).detail->find("text blob too big"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace muster

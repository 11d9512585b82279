// Launches that are large wait for their turn: what that asks of nobody, and what may not be lost
// by it.
#include <gtest/gtest.h>

#include <csignal>

#include "controller/testing.h"

namespace muster {
namespace {

using testing::cancel_of;
using testing::Rig;
using testing::spec_of;
using testing::submit_of;

/// The job has ended because its bytes did not come, and no node is blamed.
void expect_unread(const Rig& rig, JobId job) {
  EXPECT_EQ(rig.job(job).state, JobState::kFailed);
  ASSERT_NE(rig.job(job).detail, nullptr);
  EXPECT_NE(rig.job(job).detail->find("was not read within 60 s"), std::string::npos);
  for (const Node& node : rig.core.state().nodes().all())
    EXPECT_EQ(node.status.conditions & node_condition::kDrain, 0) << node.status.reason;
}

/// Of whose scripts one may be under way at once.
class LargeLaunchTest : public ::testing::Test {
 protected:
  explicit LargeLaunchTest(std::uint32_t nodes = 3) : rig(nodes) { rig.connect_all(); }
  /// A job that fills a node.
  JobId submit(std::uint32_t cpus = 4) {
    auto spec = spec_of();
    spec->request.edit()->cpus_per_task = cpus;
    spec->time_limit = Duration::minutes(10);
    PreparedSubmit submit = submit_of(std::move(spec));
    submit.script = PreparedBlob{std::string(32, 's'), script_};
    const JobId job = rig.done(std::move(submit)).job;
    rig.plan();
    return job;
  }
  /// As srun on so many nodes, in an allocation with a large environment.
  StepId begin_wide(std::uint32_t nodes) {
    auto spec = spec_of();
    spec->kind = JobKind::kInteractive;
    spec->request.edit()->min_nodes = nodes;
    spec->request.edit()->task_count = nodes;
    PreparedSubmit submit = submit_of(std::move(spec));
    submit.environment = PreparedBlob{
        std::string(32, 'e'), std::make_shared<const std::string>(std::size_t{3} << 20, 'x')};
    rig.plan();
    return rig.begin_step(rig.done(std::move(submit)).job, nodes);
  }
  std::uint32_t node_of(JobId job) const {
    return rig.job(job).run->allocation->nodes.front().node.value();
  }
  std::size_t launches(JobId job) const { return rig.count_sent<LaunchStep>(node_of(job)); }
  void receive(JobId job) {
    rig.core.on_received(NodeIndex(node_of(job)), rig.batch_step(job), rig.now);
    rig.core.end_turn(rig.now);
    rig.flush();
  }
  bool is_drained(std::uint32_t node) const {
    const Node& one = rig.core.state().nodes().at(NodeIndex(node));
    return (one.status.conditions & node_condition::kDrain) != 0;
  }
  Rig rig;

 private:
  Bytes script_ = std::make_shared<const std::string>(std::size_t{20} << 20, '#');
};

class ManyLargeLaunchesTest : public LargeLaunchTest {
 protected:
  ManyLargeLaunchesTest() : LargeLaunchTest(80) {}
};

TEST_F(ManyLargeLaunchesTest, ThatTheyAreManyIsNoNodesFault) {
  std::vector<JobId> jobs;
  for (int i = 0; i < 80; ++i) jobs.push_back(submit());
  for (const JobId job : jobs) {
    ASSERT_EQ(launches(job), 1U) << "its turn has come";
    rig.live(Duration::milliseconds(900));
    receive(job);
    rig.hear(node_of(job), StepRunning{rig.batch_step(job)});
  }
  for (const JobId job : jobs) {
    EXPECT_EQ(rig.job(job).state, JobState::kRunning);
    EXPECT_EQ(rig.job(job).attempt, 0U);
    EXPECT_EQ(launches(job), 1U);
    EXPECT_FALSE(is_drained(node_of(job)));
  }
}

TEST_F(LargeLaunchTest, ANodesTimeBeginsWhenItIsTold) {
  const JobId first = submit();
  const JobId second = submit();
  EXPECT_EQ(launches(second), 0U);
  rig.live(Duration::milliseconds(800));
  receive(first);
  rig.hear(node_of(first), StepRunning{rig.batch_step(first)});
  ASSERT_EQ(launches(second), 1U);
  rig.live(Duration::seconds(59) + Duration::milliseconds(500));
  EXPECT_EQ(rig.job(second).attempt, 0U);
  rig.live(Duration::seconds(2));
  EXPECT_EQ(rig.job(second).attempt, 1U);
  EXPECT_FALSE(is_drained(node_of(first)));
}

TEST_F(LargeLaunchTest, WhatWaitsForANodeThatReceivesNothingEndsWithIt) {
  const JobId first = submit(2);
  const JobId second = submit(2);
  ASSERT_EQ(node_of(first), node_of(second));
  const std::uint32_t node = node_of(first);
  EXPECT_EQ(rig.count_sent<LaunchStep>(node), 1U);
  rig.live(Duration::seconds(62));
  EXPECT_TRUE(is_drained(node));
  EXPECT_EQ(rig.job(first).attempt, 1U);
  EXPECT_EQ(rig.job(second).attempt, 1U);
}

TEST_F(LargeLaunchTest, OneThatReceivesNothingHoldsUpOthersForASecondAlone) {
  submit();
  const JobId second = submit();
  EXPECT_EQ(launches(second), 0U);
  rig.live(Duration::milliseconds(1500));
  EXPECT_EQ(launches(second), 1U);
}

TEST_F(LargeLaunchTest, AJobThatEndsWhileItsLaunchWaitsIsNotLaunched) {
  const JobId first = submit();
  const JobId second = submit();
  const std::uint32_t node = node_of(second);
  rig.done(cancel_of(second));
  rig.hear(node, JobClean{second, 0});
  EXPECT_TRUE(rig.job(second).is_over());
  receive(first);
  rig.live(Duration::seconds(3));
  EXPECT_EQ(rig.count_sent<LaunchStep>(node), 0U);
  const JobId third = submit();
  EXPECT_EQ(launches(third), 1U) << "and nobody waits for it";
}

TEST_F(LargeLaunchTest, SignalsWaitWithIt) {
  const JobId first = submit();
  const JobId second = submit();
  rig.done(CancelStep{rig.batch_step(second), SIGUSR1});
  EXPECT_EQ(rig.count_sent<SignalStep>(node_of(second)), 0U);
  receive(first);
  ASSERT_EQ(launches(second), 1U);
  ASSERT_EQ(rig.count_sent<SignalStep>(node_of(second)), 1U);
  EXPECT_TRUE(holds_alternative<SignalStep>(rig.sent.back().second)) << "after it";
}

/// That of the script alone is in no state: it reaches the script once that has begun.
TEST_F(LargeLaunchTest, AlsoTheEndOfTheScriptAlone) {
  const JobId first = submit();
  const JobId second = submit();
  CancelJobs cancel = cancel_of(second);
  cancel.signal = SIGKILL;
  cancel.batch_only = true;
  rig.done(cancel);
  EXPECT_EQ(rig.count_sent<SignalStep>(node_of(second)), 0U);
  receive(first);
  ASSERT_EQ(launches(second), 1U);
  EXPECT_EQ(rig.count_sent<SignalStep>(node_of(second)), 1U);
}

TEST_F(LargeLaunchTest, ANodeThatComesBackAgainAndAgainGivesTheOthersNoMoreTime) {
  const StepId step = begin_wide(2);
  for (int round = 0; round < 7; ++round) {
    for (const std::uint32_t node : {0U, 1U}) {
      rig.core.on_received(NodeIndex(node), step, rig.now);
      rig.core.end_turn(rig.now);
    }
    rig.live(Duration::seconds(9));
    rig.core.on_agent_lost(NodeIndex(1));
    rig.connect(1);
  }
  EXPECT_TRUE(is_drained(0)) << "it never said that it runs";
}

TEST_F(LargeLaunchTest, ANodeThatWasAwayIsToldWhenItIsBack) {
  const JobId first = submit();
  const JobId second = submit();
  rig.core.on_agent_lost(NodeIndex(node_of(first)));
  rig.live(Duration::milliseconds(200));
  EXPECT_EQ(launches(second), 1U) << "nothing is under way any more";
  receive(second);
  rig.connect(node_of(first));
  EXPECT_EQ(launches(first), 2U);
}

TEST_F(LargeLaunchTest, OneThatCannotBeReadGivesItsTurnUp) {
  const JobId first = submit();
  const JobId second = submit();
  Rig next(3, rig.stored());
  next.connect_all();
  ASSERT_EQ(next.fetched.size(), 1U) << "no more than those whose turn it is";
  next.core.on_blob(next.fetched[0], fail(ErrorCode::kUnavailable, "disk I/O error"));
  next.core.end_turn(next.now);
  next.flush();
  EXPECT_EQ(next.job(first).state, JobState::kFailed);
  next.live(Duration::milliseconds(200));
  ASSERT_EQ(next.fetched.size(), 2U);
  next.core.on_blob(next.fetched[1], std::make_shared<const std::string>("#!/bin/sh\n"));
  EXPECT_EQ(next.count_sent<LaunchStep>(node_of(second)), 1U);
}

TEST_F(LargeLaunchTest, OneWhoseBytesDoNotComeEndsInTimeAndBlamesNoNode) {
  const JobId first = submit();
  Rig next(3, rig.stored());
  next.connect_all();
  ASSERT_EQ(next.fetched.size(), 1U);
  next.live(Duration::seconds(62));
  expect_unread(next, first);
}

/// Users take turns: bob's, whose script does not come, is before alice's third.
TEST(LargeLaunch, NorDoesOneThatWaitsBehindIt) {
  const auto script = [](char letter) {
    return std::make_shared<const std::string>(std::size_t{1} << 20, letter);
  };
  Rig rig(1);
  rig.connect_all();
  std::vector<JobId> jobs;
  for (const Identity& who : {testing::kAlice, testing::kAlice, testing::kAlice, testing::kBob}) {
    auto spec = spec_of();
    spec->request.edit()->cpus_per_task = 1;
    spec->user = who.user;
    PreparedSubmit submit = submit_of(std::move(spec));
    const char letter = static_cast<char>('a' + jobs.size());
    submit.script = PreparedBlob{std::string(32, letter), script(letter)};
    jobs.push_back(rig.done(std::move(submit), who).job);
    rig.plan();
  }
  Rig next(1, rig.stored());
  next.connect_all();
  for (const std::size_t i : {0U, 1U}) {
    next.core.on_blob(next.fetched.at(i), script('x'));
    next.core.end_turn(next.now);
    next.flush();
    next.core.on_received(NodeIndex(0), next.batch_step(jobs[i]), next.now);
    next.core.end_turn(next.now);
    next.flush();
    next.hear(0, StepRunning{next.batch_step(jobs[i])});
  }
  ASSERT_EQ(next.fetched.size(), 3U) << "bob's turn";
  for (int second = 0; second < 62; ++second) next.live(Duration::seconds(1));
  EXPECT_EQ(next.job(jobs[3]).state, JobState::kFailed);
  EXPECT_EQ(next.job(jobs[2]).state, JobState::kRunning) << "its own time has not begun";
  EXPECT_EQ(next.job(jobs[2]).attempt, 0U);
  EXPECT_EQ(next.core.state().nodes().at(NodeIndex(0)).status.reason, "");
}

TEST_F(LargeLaunchTest, SignalsToOneThatIsCancelledInItsTurnAreForgotten) {
  const JobId first = submit(2);
  const JobId second = submit(2);
  ASSERT_EQ(node_of(first), node_of(second));
  ASSERT_FALSE(rig.done(CancelStep{rig.batch_step(second), SIGUSR1}).error);
  const NodeIndex node(node_of(first));
  ASSERT_EQ(rig.core.links()[node.value()].missed_signals.size(), 1U);
  rig.done(cancel_of(second));
  receive(first);
  EXPECT_TRUE(rig.core.links()[node.value()].missed_signals.empty());
}

TEST_F(LargeLaunchTest, EachNodeOfAStepIsToldItsOwn) {
  const StepId step = begin_wide(3);
  std::vector<std::string> names;
  for (std::uint32_t node = 0; node < 3; ++node) {
    for (const auto& [to, message] : rig.sent) {
      const auto* launch = get_if<LaunchStep>(&message);
      if (launch == nullptr || to != NodeIndex(node)) continue;
      EXPECT_EQ(launch->id, step);
      EXPECT_EQ(launch->node_rank, node);
      names.push_back(launch->node_name);
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"n0", "n1", "n2"}));
}

TEST(SmallLaunch, ItsNodesTimeBeginsWhenItsBytesAreThere) {
  Rig rig(1);
  rig.connect_all();
  const JobId job = rig.done(submit_of(spec_of())).job;
  rig.plan();
  Rig next(1, rig.stored());
  next.connect_all();
  next.live(Duration::seconds(59));
  next.core.on_blob(next.fetched.at(0), std::make_shared<const std::string>("#!/bin/sh\n"));
  next.core.end_turn(next.now);
  next.flush();
  ASSERT_EQ(next.count_sent<LaunchStep>(0), 1U);
  next.live(Duration::seconds(50));
  EXPECT_EQ(next.job(job).attempt, 0U);
  EXPECT_EQ(next.core.state().nodes().at(NodeIndex(0)).status.reason, "");
  next.live(Duration::seconds(12));
  EXPECT_EQ(next.job(job).attempt, 1U) << "a whole time is enough";
}

/// A script of any size: here one that does not wait for its turn.
TEST(SmallLaunch, OneWhoseBytesDoNotComeEndsInTimeAndBlamesNoNode) {
  Rig rig;
  rig.connect_all();
  const JobId job = rig.done(submit_of(spec_of())).job;
  rig.plan();
  Rig next(2, rig.stored());
  next.connect_all();
  ASSERT_EQ(next.fetched.size(), 1U);
  next.live(Duration::seconds(62));
  expect_unread(next, job);
}

}  // namespace
}  // namespace muster

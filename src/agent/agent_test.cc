#include "agent/agent.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TimePoint at(std::int64_t seconds) { return TimePoint::from_seconds(1000 + seconds); }

const StepId kStep{JobId(1), 0, kBatchStep};

LaunchStep launch_of(const StepId& id) {
  LaunchStep launch;
  launch.id = id;
  return launch;
}
StepDone done_of(const StepId& id) {
  StepDone done;
  done.id = id;
  done.tasks = {ExitStatus::exited(3)};
  return done;
}
TerminateJob terminate_of(const StepId& id) { return TerminateJob{id.job, id.attempt, "", Duration::seconds(5)}; }

class FakeWorld final : public AgentWorld {
 public:
  void send_controller(const FromAgent& message) override {
    if (!std::holds_alternative<Heartbeat>(message)) told.push_back(message);
  }
  Status launch(const std::vector<LaunchStep>& steps) override {
    if (is_full) return fail(ErrorCode::kUnavailable, "no space");
    for (const LaunchStep& step : steps) launched.push_back(step.id);
    return {};
  }
  void send_step(const StepId&, const ToAgent& message) override { ordered.push_back(message); }
  void forget(const StepId& step) override { forgotten.push_back(step); }
  std::optional<StepDone> find_end(const StepId&) override { return end; }
  void clean_up(const StepId& step) override { cleaned.push_back(step); }
  Heartbeat measure() override { return {}; }
  bool is_output_stored(const StepId&) override { return is_stored; }

  template <class Kind>
  std::size_t count() const {
    std::size_t n = 0;
    for (const FromAgent& message : told) n += std::holds_alternative<Kind>(message) ? 1 : 0;
    return n;
  }
  std::vector<FromAgent> told;
  std::vector<StepId> launched;
  std::vector<ToAgent> ordered;
  std::vector<StepId> forgotten;
  std::vector<StepId> cleaned;
  std::optional<StepDone> end;
  bool is_full = false;
  bool is_stored = true;
};

struct AgentTest : ::testing::Test {
  AgentTest() { agent.on_registered(at(0)); }
  void launch(const StepId& id) {
    agent.on_controller(launch_of(id), at(0));
    agent.end_turn();
  }
  FakeWorld world;
  Agent agent{RegisterNode{}, 0, world};
};

TEST_F(AgentTest, RepeatedLaunchesStartOnce) {
  agent.on_controller(launch_of(kStep), at(0));
  agent.on_controller(launch_of(kStep), at(0));
  agent.end_turn();
  launch(kStep);
  EXPECT_EQ(world.launched.size(), 1U);
  agent.on_step_linked(kStep);
  agent.on_step(kStep, StepRunning{kStep});
  launch(kStep);
  EXPECT_EQ(world.launched.size(), 1U);
  EXPECT_EQ(world.count<StepRunning>(), 1U);
}

TEST_F(AgentTest, LaunchAfterItsEndStartsNothing) {
  launch(kStep);
  agent.on_step_linked(kStep);
  agent.on_step(kStep, done_of(kStep));
  launch(kStep);
  EXPECT_EQ(world.count<StepDone>(), 2U);  // told again
  agent.on_controller(AcknowledgeStep{kStep}, at(1));
  EXPECT_EQ(world.forgotten.size(), 1U);
  launch(kStep);
  EXPECT_EQ(world.launched.size(), 1U);
}

TEST_F(AgentTest, LaunchAfterTheRunWasEndedStartsNothing) {
  agent.on_controller(terminate_of(kStep), at(0));
  EXPECT_EQ(world.count<JobClean>(), 1U);
  launch(kStep);
  EXPECT_TRUE(world.launched.empty());
  launch(StepId{JobId(1), 1, kBatchStep});
  EXPECT_EQ(world.launched.size(), 1U);
}

TEST_F(AgentTest, LaunchAndTerminateInOneTurnStartNothing) {
  agent.on_controller(launch_of(kStep), at(0));
  agent.on_controller(terminate_of(kStep), at(0));
  agent.end_turn();
  EXPECT_TRUE(world.launched.empty());
  EXPECT_EQ(world.count<JobClean>(), 1U);
}

TEST_F(AgentTest, OrdersWaitForTheSupervisor) {
  agent.on_controller(launch_of(kStep), at(0));
  agent.on_controller(SuspendJob{kStep.job, 0, true}, at(0));
  agent.end_turn();
  EXPECT_TRUE(world.ordered.empty());
  agent.on_step_linked(kStep);
  ASSERT_EQ(world.ordered.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<SuspendJob>(world.ordered.front()));
}

TEST_F(AgentTest, CleanIsToldAfterTheLastStep) {
  const StepId second{JobId(1), 0, 0};
  launch(kStep);
  launch(second);
  for (const StepId& id : {kStep, second}) agent.on_step_linked(id);
  agent.on_controller(terminate_of(kStep), at(1));
  EXPECT_EQ(world.ordered.size(), 2U);
  agent.on_step(kStep, done_of(kStep));
  EXPECT_EQ(world.count<JobClean>(), 0U);
  agent.on_step(second, done_of(second));
  EXPECT_EQ(world.count<JobClean>(), 1U);
}

TEST_F(AgentTest, StepWithoutSupervisorIsLostOnce) {
  launch(kStep);
  agent.on_tick(at(4));
  EXPECT_EQ(world.count<StepDone>(), 0U);
  agent.on_tick(at(6));
  agent.on_tick(at(7));
  EXPECT_EQ(world.cleaned.size(), 1U);
  ASSERT_EQ(world.count<StepDone>(), 1U);
  EXPECT_TRUE(std::get<StepDone>(world.told.back()).is_lost);
  EXPECT_TRUE(std::get<StepDone>(world.told.back()).is_node_fault);
}

TEST_F(AgentTest, SupervisorGivenUpForLostIsEndedWhenItComesAfterAll) {
  launch(kStep);
  agent.on_tick(at(6));
  agent.on_step_linked(kStep);
  ASSERT_EQ(world.ordered.size(), 1U);
  EXPECT_EQ(std::get<TerminateJob>(world.ordered.front()).kill_wait, Duration());
  agent.on_controller(AcknowledgeStep{kStep}, at(7));
  agent.on_step_linked(kStep);
  EXPECT_EQ(world.ordered.size(), 2U);
}

TEST_F(AgentTest, EndInTheSpoolIsFoundWhenTheLinkCloses) {
  launch(kStep);
  agent.on_step_linked(kStep);
  world.end = done_of(kStep);
  agent.on_step_closed(kStep, at(1));
  ASSERT_EQ(world.count<StepDone>(), 1U);
  EXPECT_EQ(std::get<StepDone>(world.told.back()).tasks.front().code(), 3);
}

TEST_F(AgentTest, RefusingSpoolIsTheNodesFault) {
  world.is_full = true;
  launch(kStep);
  ASSERT_EQ(world.count<StepDone>(), 1U);
  EXPECT_TRUE(std::get<StepDone>(world.told.back()).is_node_fault);
  EXPECT_FALSE(std::get<StepDone>(world.told.back()).error.empty());
}

TEST(Agent, AdoptsWhatItFindsAndTellsItOnRegistration) {
  FakeWorld world;
  Agent agent(RegisterNode{}, 0, world);
  const StepId ended{JobId(2), 1, 0};
  agent.adopt(kStep, std::nullopt, at(0));
  agent.adopt(ended, done_of(ended), at(0));
  const RegisterNode hello = agent.registration();
  ASSERT_EQ(hello.steps.size(), 2U);
  EXPECT_EQ(hello.steps[0].phase, StepPhase::kRunning);
  EXPECT_EQ(hello.steps[1].phase, StepPhase::kEnded);
  agent.on_registered(at(0));
  EXPECT_EQ(world.count<StepRunning>(), 1U);
  EXPECT_EQ(world.count<StepDone>(), 1U);
  agent.on_disconnected();
  agent.on_step_linked(kStep);
  agent.on_step(kStep, done_of(kStep));
  EXPECT_EQ(world.count<StepDone>(), 1U);  // nobody is there
  agent.on_registered(at(1));
  EXPECT_EQ(world.count<StepDone>(), 3U);
}

TEST(Agent, AcknowledgementOfARunningStepIsNotObeyed) {
  FakeWorld world;
  Agent agent(RegisterNode{}, 0, world);
  agent.on_registered(at(0));
  agent.on_controller(launch_of(kStep), at(0));
  agent.end_turn();
  agent.on_controller(AcknowledgeStep{kStep}, at(0));
  EXPECT_TRUE(world.forgotten.empty());
  EXPECT_EQ(agent.registration().steps.size(), 1U);
}

// ---- what a step's tasks wrote comes before its end ----

TEST_F(AgentTest, AnEndWaitsForItsOutput) {
  launch(kStep);
  agent.on_step_linked(kStep);
  world.is_stored = false;
  agent.on_step(kStep, done_of(kStep));
  EXPECT_EQ(world.count<StepDone>(), 0U);
  EXPECT_FALSE(agent.is_live(kStep));  // else nobody would know that its output is over
  agent.on_output_stored();
  agent.on_tick(at(1));
  EXPECT_EQ(world.count<StepDone>(), 0U);
  world.is_stored = true;
  agent.on_output_stored();
  EXPECT_EQ(world.count<StepDone>(), 1U);
  agent.on_output_stored();
  agent.on_tick(at(100));
  EXPECT_EQ(world.count<StepDone>(), 1U);
}

TEST_F(AgentTest, AnEndWaitsForItsOutputAMinuteAtMost) {
  launch(kStep);
  agent.on_step_linked(kStep);
  world.is_stored = false;
  agent.on_step(kStep, done_of(kStep));
  for (int second = 1; second <= 60; ++second) {
    agent.on_tick(at(second));
    agent.on_output_stored();  // of others
  }
  EXPECT_EQ(world.count<StepDone>(), 0U);
  agent.on_tick(at(61));
  EXPECT_EQ(world.count<StepDone>(), 1U);
}

TEST_F(AgentTest, AfterALostConnectionAnEndWaitsAnew) {
  launch(kStep);
  agent.on_step_linked(kStep);
  agent.on_disconnected();
  world.is_stored = false;
  agent.on_step(kStep, done_of(kStep));
  agent.on_tick(at(1));
  agent.on_tick(at(1000));
  agent.on_registered(at(1001));
  agent.on_tick(at(1002));
  agent.on_tick(at(1061));
  EXPECT_EQ(world.count<StepDone>(), 0U);
  agent.on_tick(at(1062));
  EXPECT_EQ(world.count<StepDone>(), 1U);
}

TEST_F(AgentTest, TheEndOfARunThatWasEndedWaitsForNothing) {
  const StepId other{JobId(2), 0, kBatchStep};
  world.is_stored = false;
  launch(kStep);
  agent.on_step_linked(kStep);
  agent.on_controller(terminate_of(kStep), at(0));
  agent.on_step(kStep, done_of(kStep));
  EXPECT_EQ(world.count<StepDone>(), 1U);
  EXPECT_EQ(world.count<JobClean>(), 1U);
  launch(other);
  agent.on_step_linked(other);
  agent.on_step(other, done_of(other));
  EXPECT_EQ(world.count<StepDone>(), 1U);
  agent.on_controller(terminate_of(other), at(0));
  EXPECT_EQ(world.count<StepDone>(), 2U);
}

}  // namespace
}  // namespace muster

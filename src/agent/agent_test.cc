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
FindSteps find_of(const StepId& id, std::uint64_t launch_key) {
  return FindSteps{{{id, StepPhase::kRunning, launch_key}}};
}
TerminateJob terminate_of(const StepId& id) {
  return TerminateJob{id.job, id.attempt, "", Duration::seconds(5)};
}

class FakeWorld final : public AgentWorld {
 public:
  void send_controller(const FromAgent& message) override {
    const auto* heartbeat = get_if<Heartbeat>(&message);
    if (heartbeat != nullptr) fault = heartbeat->fault;
    if (heartbeat == nullptr) told.push_back(message);
  }
  Status record(const LaunchStep& brief) override {
    recorded.push_back(brief.id);
    return {};
  }
  Result<TimePoint> launch(const std::vector<LaunchStep>& steps) override {
    if (has_stood_still) return fail(ErrorCode::kDeadlineExceeded, "stood still");
    if (is_full) return fail(ErrorCode::kUnavailable, "no space");
    for (const LaunchStep& step : steps) launched.push_back(step.id);
    return launch_time;
  }
  void send_step(const StepId&, const ToAgent& message) override { ordered.push_back(message); }
  void forget(const StepId& step) override { forgotten.push_back(step); }
  std::optional<StepDone> find_end(const StepId&) override { return end; }
  Leftovers leftovers() override { return left; }
  bool has_supervisor(const StepId&) override { return is_supervised; }
  bool clean_up(const StepId& step) override {
    cleaned.push_back(step);
    return !leaves_some;
  }
  void end_supervisor(const StepId& step) override { silenced.push_back(step); }
  Heartbeat measure() override { return {}; }
  Status probe() override {
    return is_full ? Status(fail(ErrorCode::kUnavailable, "no space")) : Status();
  }
  Status adopt_cluster(const ClusterIdentity& cluster, JobId floor,
                       bool has_lost_records) override {
    if (is_full) return fail(ErrorCode::kUnavailable, "no space");
    adopted = cluster;
    is_flagged = has_lost_records;
    job_floor = floor;
    return {};
  }
  bool is_output_stored(const StepId&) override { return is_stored; }
  void reconnect() override { ++reconnections; }
  int reconnections = 0;

  template <class Kind>
  std::size_t count() const {
    std::size_t n = 0;
    for (const FromAgent& message : told) n += holds_alternative<Kind>(message) ? 1 : 0;
    return n;
  }
  std::vector<FromAgent> told;
  std::vector<StepId> launched;
  std::vector<StepId> recorded;
  std::vector<ToAgent> ordered;
  std::vector<StepId> forgotten;
  std::vector<StepId> cleaned;
  std::vector<StepId> silenced;
  std::optional<StepDone> end;
  Leftovers left;
  bool is_supervised = false;  ///< its supervisor lives, linked or not
  bool leaves_some = false;    ///< what is cleaned up does not go at once
  bool is_full = false;
  bool has_stood_still = false;   ///< while it recorded a launch
  TimePoint launch_time = at(0);  ///< when the next supervisors are started
  std::string fault;              ///< of the last heartbeat
  ClusterIdentity adopted;
  bool is_flagged = false;
  JobId job_floor;
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
  agent.on_step_linked(kStep, 0);
  agent.on_step(kStep, StepRunning{kStep});
  launch(kStep);
  EXPECT_EQ(world.launched.size(), 1U);
  EXPECT_EQ(world.count<StepRunning>(), 1U);
}

TEST_F(AgentTest, LaunchAfterItsEndStartsNothing) {
  launch(kStep);
  agent.on_step_linked(kStep, 0);
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
  agent.on_step_linked(kStep, 0);
  ASSERT_EQ(world.ordered.size(), 1U);
  EXPECT_TRUE(holds_alternative<SuspendJob>(world.ordered.front()));
}

TEST_F(AgentTest, CleanIsToldAfterTheLastStep) {
  const StepId second{JobId(1), 0, 0};
  launch(kStep);
  launch(second);
  for (const StepId& id : {kStep, second}) agent.on_step_linked(id, 0);
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
  EXPECT_TRUE(get<StepDone>(world.told.back()).is_lost);
  EXPECT_TRUE(get<StepDone>(world.told.back()).is_node_fault);
}

TEST_F(AgentTest, SupervisorGivenUpForLostIsEndedWhenItComesAfterAll) {
  launch(kStep);
  agent.on_tick(at(6));
  agent.on_step_linked(kStep, 0);
  ASSERT_EQ(world.ordered.size(), 1U);
  EXPECT_EQ(get<TerminateJob>(world.ordered.front()).kill_wait, Duration());
  agent.on_controller(AcknowledgeStep{kStep}, at(7));
  agent.on_step_linked(kStep, 0);
  EXPECT_EQ(world.ordered.size(), 2U);
}

TEST_F(AgentTest, EndInTheSpoolIsFoundWhenTheLinkCloses) {
  launch(kStep);
  agent.on_step_linked(kStep, 0);
  world.end = done_of(kStep);
  agent.on_step_closed(kStep, at(1));
  ASSERT_EQ(world.count<StepDone>(), 1U);
  EXPECT_EQ(get<StepDone>(world.told.back()).tasks.front().code(), 3);
}

TEST_F(AgentTest, RefusingSpoolIsTheNodesFault) {
  world.is_full = true;
  launch(kStep);
  ASSERT_EQ(world.count<StepDone>(), 1U);
  EXPECT_TRUE(get<StepDone>(world.told.back()).is_node_fault);
  EXPECT_FALSE(get<StepDone>(world.told.back()).error.empty());
}

TEST_F(AgentTest, APauseWhileALaunchIsRecordedIsNobodysFault) {
  world.has_stood_still = true;
  launch(kStep);
  EXPECT_EQ(world.count<StepDone>(), 0U);
  EXPECT_TRUE(world.fault.empty());
  EXPECT_EQ(world.reconnections, 1);
  EXPECT_EQ(world.forgotten, std::vector{kStep});
  // What was told before the node registers anew is not started.
  world.has_stood_still = false;
  launch(kStep);
  EXPECT_TRUE(world.launched.empty());
  EXPECT_TRUE(agent.registration().steps.empty());
  agent.on_registered(at(1));
  launch(kStep);
  EXPECT_EQ(world.launched, std::vector{kStep});
}

TEST_F(AgentTest, AStepHasItsTimeFromWhenItsSupervisorWasStarted) {
  world.launch_time = at(4);
  launch(kStep);
  for (const int second : {4, 6, 8}) agent.on_tick(at(second));
  EXPECT_EQ(world.count<StepDone>(), 0U);
  agent.on_tick(at(10));
  EXPECT_EQ(world.count<StepDone>(), 1U);
}

TEST(Agent, AdoptsWhatItFindsAndTellsItOnRegistration) {
  FakeWorld world;
  Agent agent(RegisterNode{}, 0, world);
  const StepId ended{JobId(2), 1, 0};
  agent.adopt(kStep, 7, std::nullopt, at(0));
  agent.adopt(ended, 7, done_of(ended), at(0));
  const RegisterNode hello = agent.registration();
  ASSERT_EQ(hello.steps.size(), 2U);
  EXPECT_EQ(hello.steps[0].phase, StepPhase::kRunning);
  EXPECT_EQ(hello.steps[1].phase, StepPhase::kEnded);
  agent.on_registered(at(0));
  EXPECT_EQ(world.count<StepRunning>(), 1U);
  EXPECT_EQ(world.count<StepDone>(), 1U);
  agent.on_disconnected();
  agent.on_step_linked(kStep, 0);
  agent.on_step(kStep, done_of(kStep));
  EXPECT_EQ(world.count<StepDone>(), 1U);  // nobody is there
  agent.on_registered(at(1));
  EXPECT_EQ(world.count<StepDone>(), 3U);
}

TEST_F(AgentTest, AStepThatTheSpoolHasLostGoesOnWithItsSupervisor) {
  agent.on_controller(find_of(kStep, 7), at(0));
  EXPECT_EQ(world.recorded, std::vector<StepId>{kStep});
  EXPECT_TRUE(agent.is_live(kStep));
  EXPECT_TRUE(world.told.empty());
  agent.on_step_linked(kStep, 7);
  agent.on_step(kStep, StepRunning{kStep, 7});
  agent.on_tick(at(1));
  ASSERT_EQ(world.count<StepRunning>(), 1U);
  agent.on_tick(at(60));
  EXPECT_EQ(world.count<StepDone>(), 0U);
  agent.on_controller(find_of(kStep, 7), at(61));
  EXPECT_EQ(world.count<StepRunning>(), 2U);
  agent.on_controller(find_of(kStep, 8), at(61));
  ASSERT_EQ(world.count<StepDone>(), 1U) << "of that run there is nothing here";
  EXPECT_TRUE(get<StepDone>(world.told.back()).is_lost);
  EXPECT_EQ(get<StepDone>(world.told.back()).launch_key, 8U);
  EXPECT_TRUE(world.launched.empty());
}

TEST_F(AgentTest, AStepThatIsNotFoundIsCleanedUpAfterAndLost) {
  agent.on_controller(find_of(kStep, 7), at(0));
  for (int second = 1; second <= 5; ++second) agent.on_tick(at(second));
  EXPECT_EQ(world.count<StepDone>(), 0U);
  agent.on_tick(at(6));
  EXPECT_EQ(world.cleaned, std::vector<StepId>{kStep});
  ASSERT_EQ(world.count<StepDone>(), 1U);
  EXPECT_TRUE(get<StepDone>(world.told.back()).is_lost);
  EXPECT_EQ(get<StepDone>(world.told.back()).launch_key, 7U);
}

TEST(Agent, ASupervisorThatNobodyWaitsForIsToldOf) {
  FakeWorld world;
  RegisterNode self;
  self.has_lost_records = true;
  Agent agent(self, 0, world);
  EXPECT_TRUE(agent.registration().has_lost_records);
  agent.on_step_linked(kStep, 7);
  agent.on_step(kStep, StepRunning{kStep, 7});
  EXPECT_TRUE(world.ordered.empty()) << "whether it is to run the controller knows";
  const RegisterNode hello = agent.registration();
  ASSERT_EQ(hello.steps.size(), 1U);
  EXPECT_EQ(hello.steps.front().launch_key, 7U);
  EXPECT_EQ(hello.steps.front().phase, StepPhase::kRunning);
  EXPECT_EQ(world.recorded, std::vector<StepId>{kStep});
  agent.on_registered(at(0));
  EXPECT_EQ(world.count<StepRunning>(), 1U);
  EXPECT_TRUE(agent.registration().has_lost_records) << "the controller may not have heard it";
  world.is_full = true;
  agent.on_controller(FindSteps{}, at(0));
  EXPECT_TRUE(agent.registration().has_lost_records) << "the spool did not take it";
  world.is_full = false;
  agent.on_controller(FindSteps{}, at(0));
  EXPECT_FALSE(agent.registration().has_lost_records);
  EXPECT_FALSE(world.is_flagged);
}

TEST(Agent, ALaunchOfWhichSomethingIsHereAlreadyIsLookedForInstead) {
  FakeWorld world;
  Agent agent(RegisterNode{}, 0, world);
  world.left = {{kStep, {UserId(0)}}};
  agent.on_registered(at(0));
  agent.on_controller(launch_of(kStep), at(0));
  agent.end_turn();
  EXPECT_TRUE(world.launched.empty()) << "an older copy of the spool has lost it unnoticed";
  EXPECT_EQ(world.recorded, std::vector<StepId>{kStep});
  for (int second = 1; second <= 6; ++second) agent.on_tick(at(second));
  EXPECT_EQ(world.cleaned, std::vector<StepId>{kStep});
  ASSERT_EQ(world.count<StepDone>(), 1U);
  EXPECT_TRUE(get<StepDone>(world.told.back()).is_lost);
  const StepId other{JobId(2), 0, 0};
  agent.on_controller(launch_of(other), at(7));
  agent.end_turn();
  EXPECT_EQ(world.launched, std::vector<StepId>{other}) << "of that there was nothing";
}

/// It may have been given up, and the job may run elsewhere: whichever is read first, the order or
/// the clock.
TEST(Agent, ALaunchThatLayUnreadWhileItStoodStillStartsNothing) {
  for (const bool is_clock_first : {false, true}) {
    FakeWorld world;
    Agent agent(RegisterNode{}, 0, world);
    agent.registration();
    agent.on_registered(at(0));
    agent.on_tick(at(1));
    if (is_clock_first) agent.on_tick(at(30));
    agent.on_controller(launch_of(kStep), at(30));
    agent.end_turn();
    agent.on_tick(at(30));
    EXPECT_TRUE(world.launched.empty());
    EXPECT_EQ(world.reconnections, 1);
    agent.on_disconnected();
    EXPECT_TRUE(agent.registration().steps.empty()) << "that is what the controller goes by";
    agent.on_registered(at(31));
    agent.on_tick(at(31));
    agent.on_controller(launch_of(kStep), at(31));
    agent.end_turn();
    EXPECT_EQ(world.launched, std::vector<StepId>{kStep});
    EXPECT_EQ(world.reconnections, 1);
  }
}

TEST(Agent, ASupervisorOfAnotherRunOfTheNumberIsNotTheSteps) {
  FakeWorld world;
  Agent agent(RegisterNode{}, 0, world);
  world.left = {{kStep, {UserId(0)}}};
  agent.on_registered(at(0));
  LaunchStep launch = launch_of(kStep);
  launch.launch_key = 7;
  agent.on_controller(launch, at(0));
  EXPECT_FALSE(agent.on_step_linked(kStep, 3)) << "what is here is of another cluster";
  EXPECT_EQ(world.count<StepRunning>(), 0U);
  EXPECT_TRUE(agent.on_step_linked(kStep, 7));
}

TEST(Agent, ProcessesOfAnotherUserSayNothingOfALaunch) {
  FakeWorld world;
  Agent agent(RegisterNode{}, 0, world);
  world.left = {{kStep, {UserId(65534)}}};
  agent.on_registered(at(0));
  LaunchStep launch = launch_of(kStep);
  auto job = std::make_shared<JobSpec>();
  job->user = UserId(1000);
  launch.job = std::move(job);
  agent.on_controller(launch, at(0));
  agent.end_turn();
  EXPECT_EQ(world.launched, std::vector<StepId>{kStep});
}

TEST(Agent, LeftoversThatNobodyNamesAreCleanedUp) {
  FakeWorld world;
  Agent agent(RegisterNode{}, 0, world);
  const StepId other{JobId(2), 0, 0};
  world.left = {{kStep, {UserId(0)}}, {other, {UserId(0)}}};
  world.leaves_some = true;
  EXPECT_TRUE(agent.on_cluster({"ours", Epoch(1)}, at(0)));
  agent.on_registered(at(0));
  agent.on_controller(find_of(kStep, 7), at(0));
  EXPECT_EQ(world.cleaned, std::vector<StepId>{other});
  world.leaves_some = false;
  agent.on_tick(at(1));
  EXPECT_EQ(world.cleaned, (std::vector<StepId>{other, other}));
  agent.on_tick(at(2));
  EXPECT_EQ(world.cleaned.size(), 2U);
}

TEST(Agent, ASpoolThatKnowsNoClusterMayHaveBeenEmptied) {
  FakeWorld world;
  Agent agent(RegisterNode{}, 0, world);
  EXPECT_TRUE(agent.on_cluster({"ours", Epoch(1)}, at(0)));
  EXPECT_TRUE(world.is_flagged) << "until the controller has told it what it may have forgotten";
  EXPECT_TRUE(agent.registration().has_lost_records);
  agent.on_registered(at(0));
  agent.on_controller(FindSteps{}, at(0));
  EXPECT_FALSE(world.is_flagged);
  EXPECT_TRUE(agent.on_cluster({"ours", Epoch(2)}, at(0)));
  EXPECT_FALSE(agent.registration().has_lost_records);
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
  agent.on_step_linked(kStep, 0);
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
  agent.on_step_linked(kStep, 0);
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
  agent.on_step_linked(kStep, 0);
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
  agent.on_step_linked(kStep, 0);
  agent.on_controller(terminate_of(kStep), at(0));
  agent.on_step(kStep, done_of(kStep));
  EXPECT_EQ(world.count<StepDone>(), 1U);
  EXPECT_EQ(world.count<JobClean>(), 1U);
  launch(other);
  agent.on_step_linked(other, 0);
  agent.on_step(other, done_of(other));
  EXPECT_EQ(world.count<StepDone>(), 1U);
  agent.on_controller(terminate_of(other), at(0));
  EXPECT_EQ(world.count<StepDone>(), 2U);
}

TEST_F(AgentTest, AStepThatRunsForAWhileIsToldOnce) {
  launch(kStep);
  agent.on_step_linked(kStep, 0);
  agent.on_step(kStep, StepRunning{kStep});
  EXPECT_EQ(world.count<StepRunning>(), 0U) << "it may be over at once";
  agent.on_tick(at(1));
  agent.on_tick(at(2));
  EXPECT_EQ(world.count<StepRunning>(), 1U);
}

TEST_F(AgentTest, AStepThatSomebodyWaitsForIsToldAtOnce) {
  const StepId step{JobId(1), 0, 0};
  launch(step);
  agent.on_step_linked(step, 0);
  agent.on_step(step, StepRunning{step});
  EXPECT_EQ(world.count<StepRunning>(), 1U);
  agent.on_tick(at(1));
  agent.on_step(step, StepRunning{step});  // the answer to an order
  EXPECT_EQ(world.count<StepRunning>(), 1U);
}

// ---- who is who ----

TEST_F(AgentTest, OrdersOfADeposedControllerAndOfAnotherClusterAreNotFollowed) {
  ASSERT_TRUE(agent.on_cluster({"ours", Epoch(5)}, at(0)));
  EXPECT_EQ(world.adopted.cluster_id, "ours");
  LaunchStep order = launch_of(kStep);
  order.cluster_id = "ours";
  order.epoch = Epoch(4);
  agent.on_controller(order, at(0));
  order.epoch = Epoch(9);
  order.cluster_id = "theirs";
  agent.on_controller(order, at(0));
  agent.end_turn();
  EXPECT_TRUE(world.launched.empty());
  order.cluster_id = "ours";
  order.epoch = Epoch(5);
  agent.on_controller(order, at(0));
  agent.end_turn();
  EXPECT_EQ(world.launched.size(), 1U);
  EXPECT_EQ(agent.registration().job_floor, kStep.job);
  EXPECT_EQ(agent.registration().epoch, Epoch(5));
}

TEST_F(AgentTest, AnotherClustersStepsEndBeforeTheNodeServesThisOne) {
  ASSERT_TRUE(agent.on_cluster({"ours", Epoch(5)}, at(0)));
  launch(kStep);
  agent.on_step_linked(kStep, 0);
  agent.on_step(kStep, StepRunning{kStep});
  EXPECT_FALSE(agent.on_cluster({"theirs", Epoch(1)}, at(1)));
  ASSERT_EQ(world.ordered.size(), 1U);
  EXPECT_EQ(get<TerminateJob>(world.ordered[0]).kill_wait, Duration());
  EXPECT_EQ(agent.registration().cluster_id, "ours");
  agent.on_step(kStep, done_of(kStep));
  EXPECT_TRUE(agent.on_cluster({"theirs", Epoch(1)}, at(2)));
  EXPECT_EQ(world.forgotten, std::vector{kStep});
  const RegisterNode hello = agent.registration();
  EXPECT_EQ(hello.cluster_id, "theirs");
  EXPECT_EQ(hello.epoch, Epoch(1));
  EXPECT_EQ(hello.job_floor, JobId(0));
  EXPECT_TRUE(hello.steps.empty());
  launch(kStep);  // the same number, another job
  EXPECT_EQ(world.launched.size(), 2U);
}

TEST_F(AgentTest, AnOrderThatComesTooLateIsAnswered) {
  agent.on_controller(terminate_of(kStep), at(0));
  launch(kStep);
  EXPECT_TRUE(world.launched.empty());
  ASSERT_EQ(world.count<StepDone>(), 1U);
  EXPECT_TRUE(get<StepDone>(world.told.back()).is_lost);
}

// ---- pauses and faults ----

TEST_F(AgentTest, AfterAPauseOfItsOwnNoSupervisorIsLostAtOnce) {
  launch(kStep);
  agent.on_tick(at(0));
  agent.on_tick(at(600));
  EXPECT_EQ(world.count<StepDone>(), 0U);
  agent.on_tick(at(601));
  for (int second = 602; second < 607; ++second) agent.on_tick(at(second));
  EXPECT_EQ(world.count<StepDone>(), 1U);
}

TEST_F(AgentTest, AFaultOfItsOwnIsToldUntilItIsGone) {
  world.is_full = true;
  launch(kStep);
  EXPECT_NE(world.fault.find("no space"), std::string::npos);
  for (int second = 1; second < 7; ++second) agent.on_tick(at(second));
  EXPECT_NE(world.fault, "");
  world.is_full = false;
  for (int second = 7; second < 14; ++second) agent.on_tick(at(second));
  EXPECT_EQ(world.fault, "");
}

TEST_F(AgentTest, AFullDiskThatASupervisorMeetsIsTheAgentsOwnFault) {
  launch(kStep);
  agent.on_step_linked(kStep, 0);
  StepDone refused = done_of(kStep);
  refused.error = "could not write slurm_script: No space left on device";
  refused.is_node_fault = refused.may_pass = true;
  world.is_full = true;
  agent.on_step(kStep, refused);
  EXPECT_EQ(world.fault, refused.error) << "told before the end, which frees the job";
  EXPECT_TRUE(get<StepDone>(world.told.back()).may_pass);
  for (int second = 1; second < 12; ++second) agent.on_tick(at(second));
  EXPECT_NE(world.fault, "");
  // A new connection begins with it as well: the controller must not hear that all is well.
  world.fault = "";
  agent.on_registered(at(12));
  EXPECT_NE(world.fault, "");
  world.is_full = false;
  for (int second = 13; second < 19; ++second) agent.on_tick(at(second));
  EXPECT_EQ(world.fault, "");
}

TEST_F(AgentTest, AFaultOfTheJobsIsNotTheAgents) {
  launch(kStep);
  agent.on_step_linked(kStep, 0);
  StepDone refused = done_of(kStep);
  refused.error = "no such file";
  agent.on_step(kStep, refused);
  agent.on_tick(at(1));
  EXPECT_EQ(world.fault, "");
}

TEST_F(AgentTest, ASupervisorThatIsToldToEndItsStepAndSaysNothingIsEnded) {
  launch(kStep);
  agent.on_step_linked(kStep, 0);
  agent.on_step(kStep, StepRunning{kStep});
  agent.on_controller(terminate_of(kStep), at(10));
  for (int second = 11; second <= 40; ++second) agent.on_tick(at(second));
  EXPECT_TRUE(world.silenced.empty());
  agent.on_tick(at(41));
  EXPECT_EQ(world.silenced, std::vector<StepId>{kStep});
  agent.on_step_closed(kStep, at(41));  // its link closes with it
  for (int second = 42; second <= 41 + 90 && world.count<StepDone>() == 0; ++second)
    agent.on_tick(at(second));
  EXPECT_EQ(world.silenced.size(), 1U);
  EXPECT_EQ(world.cleaned, std::vector<StepId>{kStep});
  EXPECT_EQ(world.count<StepDone>(), 1U);
}

TEST_F(AgentTest, ASupervisorThatAnswersHasAllTheTimeThatItsTasksTake) {
  launch(kStep);
  agent.on_step_linked(kStep, 0);
  agent.on_controller(terminate_of(kStep), at(10));
  agent.on_step(kStep, StepRunning{kStep});
  for (int second = 11; second <= 200; ++second) agent.on_tick(at(second));
  EXPECT_TRUE(world.silenced.empty());
}

TEST_F(AgentTest, ASupervisorThatLivesIsNotLostHoweverLongItIsSilent) {
  launch(kStep);
  world.is_supervised = true;
  for (int second = 1; second <= 100; ++second) agent.on_tick(at(second));
  EXPECT_EQ(world.count<StepDone>(), 0U);
  EXPECT_TRUE(world.cleaned.empty());
  agent.on_controller(terminate_of(kStep), at(100));
  for (int second = 101; second <= 131; ++second) agent.on_tick(at(second));
  EXPECT_EQ(world.silenced, std::vector<StepId>{kStep}) << "its job is to end, and it says nothing";
  EXPECT_EQ(world.count<StepDone>(), 0U);
  world.is_supervised = false;
  agent.on_tick(at(132));
  EXPECT_EQ(world.cleaned, std::vector<StepId>{kStep});
  EXPECT_EQ(world.count<StepDone>(), 1U);
}

TEST_F(AgentTest, AStepIsLostWhenNothingOfItIsLeft) {
  launch(kStep);
  world.leaves_some = true;
  for (int second = 1; second <= 20; ++second) agent.on_tick(at(second));
  EXPECT_GT(world.cleaned.size(), 1U);
  EXPECT_EQ(world.count<StepDone>(), 0U) << "what runs twice would write twice";
  world.leaves_some = false;
  agent.on_tick(at(21));
  ASSERT_EQ(world.count<StepDone>(), 1U);
  EXPECT_TRUE(get<StepDone>(world.told.back()).is_lost);
}

/// Only root may become another.
TEST(Agent, OneThatIsNotRootsStartsItsOwnUsersStepsAlone) {
  FakeWorld world;
  Agent agent(RegisterNode{}, 1000, world);
  agent.on_registered(at(0));
  for (const std::uint32_t user : {1000U, 1001U}) {
    LaunchStep launch = launch_of(StepId{JobId(user), 0, kBatchStep});
    auto job = std::make_shared<JobSpec>();
    job->user = UserId(user);
    launch.job = std::move(job);
    agent.on_controller(launch, at(0));
    agent.end_turn();
  }
  ASSERT_EQ(world.launched.size(), 1U);
  ASSERT_EQ(world.count<StepDone>(), 1U);
  const auto& refused = get<StepDone>(world.told.back());
  EXPECT_EQ(refused.id.job, JobId(1001));
  EXPECT_NE(refused.error.find("runs as uid 1000 and cannot start jobs of uid 1001"),
            std::string::npos)
      << refused.error;
}

TEST(Agent, ALaunchIsNotTakenForAnotherRunOfTheSameNumber) {
  FakeWorld world;
  Agent agent(RegisterNode{}, 0, world);
  agent.adopt(kStep, 7, std::nullopt, at(0));
  agent.on_registered(at(0));
  LaunchStep other = launch_of(kStep);
  other.launch_key = 8;
  agent.on_controller(other, at(0));
  agent.end_turn();
  EXPECT_TRUE(world.launched.empty());
  ASSERT_EQ(world.count<StepDone>(), 1U);
  EXPECT_EQ(get<StepDone>(world.told.back()).launch_key, 8U);
  EXPECT_TRUE(get<StepDone>(world.told.back()).is_lost);
  ASSERT_EQ(agent.registration().steps.size(), 1U);
  EXPECT_EQ(agent.registration().steps[0].launch_key, 7U) << "the one that runs stays";
  agent.on_step_linked(kStep, 0);
  agent.on_step(kStep, done_of(kStep));
  EXPECT_EQ(get<StepDone>(world.told.back()).launch_key, 7U);
}

TEST(Agent, AStepThatIsToEndAloneEndsAndItsNumberIsFree) {
  FakeWorld world;
  Agent agent(RegisterNode{}, 0, world);
  agent.adopt(kStep, 7, std::nullopt, at(0));
  agent.on_registered(at(0));
  agent.on_step_linked(kStep, 7);
  agent.on_controller(EndStep{kStep, 8}, at(0));
  EXPECT_TRUE(world.ordered.empty()) << "that one is not here";
  ASSERT_EQ(world.count<StepDone>(), 1U) << "which is said";
  EXPECT_EQ(get<StepDone>(world.told.back()).launch_key, 8U);
  agent.on_controller(EndStep{kStep, 7}, at(0));
  ASSERT_EQ(world.ordered.size(), 1U);
  agent.on_step(kStep, done_of(kStep));
  ASSERT_EQ(world.count<StepDone>(), 2U);
  EXPECT_EQ(get<StepDone>(world.told.back()).launch_key, 7U);
  EXPECT_EQ(world.count<JobClean>(), 0U) << "its run goes on";
  agent.on_controller(AcknowledgeStep{kStep, 7}, at(0));
  LaunchStep launch = launch_of(kStep);
  launch.launch_key = 9;
  agent.on_controller(launch, at(1));
  agent.end_turn();
  EXPECT_EQ(world.launched, std::vector<StepId>{kStep})
      << "another of that number has ended, this one has not";
  agent.on_step_linked(kStep, 9);
  agent.on_step(kStep, done_of(kStep));
  agent.on_controller(AcknowledgeStep{kStep, 7}, at(1));
  EXPECT_EQ(agent.registration().steps.size(), 1U)
      << "an acknowledgement that came twice is of the other";
  agent.on_controller(AcknowledgeStep{kStep, 9}, at(1));
  EXPECT_TRUE(agent.registration().steps.empty());
  launch.launch_key = 7;
  agent.on_controller(launch, at(2));
  agent.end_turn();
  EXPECT_EQ(world.launched.size(), 1U) << "that one was here and is over";
}

TEST(Agent, ASupervisorThatDoesNotEndItsStepAloneIsEnded) {
  FakeWorld world;
  Agent agent(RegisterNode{}, 0, world);
  agent.adopt(kStep, 7, std::nullopt, at(0));
  agent.on_registered(at(0));
  agent.on_step_linked(kStep, 7);
  agent.on_controller(EndStep{kStep, 7}, at(0));
  for (int second = 1; second <= 29; ++second) agent.on_tick(at(second));
  EXPECT_TRUE(world.silenced.empty());
  for (int second = 30; second <= 32; ++second) agent.on_tick(at(second));
  EXPECT_EQ(world.silenced, std::vector<StepId>{kStep});
}

TEST(Agent, ALaunchTakesThePlaceOfOneThatEndedUnderItsNumber) {
  FakeWorld world;
  Agent agent(RegisterNode{}, 0, world);
  agent.adopt(kStep, 7, done_of(kStep), at(0));
  agent.on_registered(at(0));
  LaunchStep launch = launch_of(kStep);
  launch.launch_key = 8;
  agent.on_controller(launch, at(0));
  agent.end_turn();
  EXPECT_EQ(world.launched, std::vector<StepId>{kStep});
  agent.on_controller(AcknowledgeStep{kStep, 7}, at(0));
  ASSERT_EQ(agent.registration().steps.size(), 1U);
  EXPECT_EQ(agent.registration().steps[0].launch_key, 8U);
}

}  // namespace
}  // namespace muster

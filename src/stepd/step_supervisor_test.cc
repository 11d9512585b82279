#include "stepd/step_supervisor.h"

#include <gtest/gtest.h>

#include <csignal>

namespace muster {
namespace {

TimePoint at(std::int64_t seconds) { return TimePoint::from_seconds(1000 + seconds); }

class FakePort final : public StepPort {
 public:
  void signal(std::uint16_t number, bool) override {
    did.push_back("signal " + std::to_string(number));
  }
  void kill_all() override { did.push_back("kill"); }
  void suspend(bool is_suspend) override { did.push_back(is_suspend ? "freeze" : "thaw"); }
  void show_stop(StopCall) override { did.push_back("stop file"); }
  void notice(const std::string& cause) override { did.push_back("notice " + cause); }
  void report(const FromAgent& message) override {
    if (const auto* done = get_if<StepDone>(&message)) end = *done;
  }
  std::vector<std::string> drain() { return std::exchange(did, {}); }
  std::vector<std::string> did;
  std::optional<StepDone> end;
};

using Did = std::vector<std::string>;

struct StepSupervisorTest : ::testing::Test {
  static LaunchStep launch() {
    LaunchStep launch;
    launch.id = StepId{JobId(1), 0, 0};
    launch.time_left = Duration::seconds(100);
    launch.kill_wait = Duration::seconds(5);
    return launch;
  }
  void start(std::size_t tasks) { step.on_started(tasks, std::nullopt, at(0)); }
  void terminate(Duration wait, TimePoint now, const std::string& cause = "") {
    step.on_message(TerminateJob{JobId(1), 0, cause, wait}, now);
  }
  void end_all(std::size_t tasks) {
    for (std::size_t i = 0; i < tasks; ++i) step.on_task_exit(i, ExitStatus::signalled(9), at(9));
    step.on_empty({}, false);
  }
  FakePort port;
  StepSupervisor step{launch(), port, at(0)};
};

TEST_F(StepSupervisorTest, AsksItsTasksOnceToStop) {
  const StopStep stop{StepId{JobId(1), 0, 0}, StopCall::kPause, at(60), SIGTERM};
  step.on_message(stop, at(0));
  EXPECT_TRUE(port.drain().empty());  // nothing runs yet
  start(1);
  EXPECT_EQ(port.drain(), (Did{"stop file", "signal 15"}));
  step.on_message(stop, at(1));
  step.on_message(StopStep{StepId{JobId(2), 0, 0}, StopCall::kPause, at(60), SIGTERM}, at(1));
  EXPECT_TRUE(port.drain().empty());
  step.on_message(StopStep{StepId{JobId(1), 0, 0}, StopCall::kCancel, at(60), SIGTERM}, at(2));
  EXPECT_EQ(port.drain(), (Did{"stop file", "signal 15"})) << "a stronger call is heard";
}

TEST_F(StepSupervisorTest, AStopWithoutASignalShowsItsFileAlone) {
  start(1);
  step.on_message(StopStep{StepId{JobId(1), 0, 0}, StopCall::kSearch, at(60), 0}, at(0));
  EXPECT_EQ(port.drain(), Did{"stop file"});
}

TEST_F(StepSupervisorTest, ReportsTheExitsOfItsTasks) {
  start(2);
  step.on_task_exit(1, ExitStatus::exited(4), at(1));
  step.on_empty({}, false);
  EXPECT_FALSE(port.end);  // one still runs
  step.on_task_exit(0, ExitStatus::exited(0), at(2));
  EXPECT_TRUE(step.is_tasks_over());
  step.on_empty(Usage{1, 2, 3}, true);
  ASSERT_TRUE(port.end);
  EXPECT_EQ(port.end->tasks[1].code(), 4);
  EXPECT_EQ(port.end->usage.max_rss_kib, 3U);
  EXPECT_TRUE(port.end->is_out_of_memory);
}

TEST_F(StepSupervisorTest, TerminationEscalatesAfterKillWait) {
  start(1);
  terminate(Duration::seconds(5), at(10), "DUE TO TIME LIMIT");
  EXPECT_EQ(port.drain(), (Did{"notice DUE TO TIME LIMIT", "signal 18", "signal 15"}));
  terminate(Duration::seconds(5), at(12), "again");
  EXPECT_TRUE(port.drain().empty());
  EXPECT_EQ(step.next_tick(), at(15));
  step.on_tick(at(14));
  EXPECT_TRUE(port.drain().empty());
  step.on_tick(at(15));
  EXPECT_EQ(port.drain(), Did{"kill"});
  step.on_tick(at(16));
  EXPECT_EQ(port.drain(), Did{"kill"});
  end_all(1);
  EXPECT_TRUE(step.is_ended());
}

TEST_F(StepSupervisorTest, SaysWhetherItsEndWasAskedFor) {
  EXPECT_FALSE(step.is_ended_by_order());
  start(1);
  EXPECT_FALSE(step.is_ended_by_order());
  step.on_task_exit(0, ExitStatus(), at(1));
  EXPECT_FALSE(step.is_ended_by_order()) << "its tasks ended by themselves";
  terminate(Duration::seconds(5), at(1));
  EXPECT_TRUE(step.is_ended_by_order());
  step.on_message(SignalStep{StepId{JobId(1), 0, 0}, SIGKILL, false}, at(2));
  EXPECT_TRUE(step.is_ended_by_order());
  step.on_empty(Usage(), false);
  ASSERT_TRUE(step.is_ended());
  EXPECT_TRUE(step.is_ended_by_order()) << "also when it is over";
}

TEST_F(StepSupervisorTest, KillDoesNotWait) {
  start(1);
  terminate(Duration::seconds(5), at(1));
  port.drain();
  step.on_message(SignalStep{StepId{JobId(1), 0, 0}, SIGKILL, false}, at(2));
  EXPECT_EQ(port.drain(), Did{"kill"});
}

TEST_F(StepSupervisorTest, AKillIsToldOf) {
  start(1);
  step.on_message(SignalStep{StepId{JobId(1), 0, 0}, SIGKILL, false}, at(2));
  EXPECT_EQ(port.drain(), (Did{"notice DUE to SIGNAL Killed", "kill"}));
  step.on_message(SignalStep{StepId{JobId(1), 0, 0}, SIGKILL, false}, at(3));
  EXPECT_TRUE(port.drain().empty());
}

TEST_F(StepSupervisorTest, EarlyTerminationIsCarriedOutAtTheStart) {
  terminate(Duration::seconds(5), at(0));
  EXPECT_TRUE(port.drain().empty());
  start(1);
  EXPECT_EQ(port.drain(), (Did{"signal 18", "signal 15"}));
}

TEST_F(StepSupervisorTest, EarlyTerminationEndsAStepThatNobodyStarts) {
  terminate(Duration::seconds(5), at(0));
  EXPECT_EQ(step.next_tick(), at(5));
  step.on_tick(at(5));
  EXPECT_TRUE(step.is_ended());
  ASSERT_TRUE(port.end);
  EXPECT_EQ(port.end->tasks.front().signal(), SIGKILL);
}

TEST_F(StepSupervisorTest, DeadlineIsAMinuteAfterTheEnd) {
  start(1);
  EXPECT_EQ(step.next_tick(), at(160));
  step.on_message(ChangeEnd{JobId(1), 0, at(200), Duration::seconds(199)}, at(1));
  step.on_message(ChangeEnd{JobId(2), 0, at(5), Duration::seconds(4)}, at(1));
  step.on_tick(at(160));
  EXPECT_TRUE(port.drain().empty());
  step.on_tick(at(260));
  EXPECT_EQ(port.drain(), (Did{"notice DUE TO TIME LIMIT", "signal 18", "signal 15"}));
}

TEST_F(StepSupervisorTest, SuspensionStopsTheClockAndEndsBeforeATermination) {
  start(1);
  step.on_message(SuspendJob{JobId(1), 0, true}, at(1));
  EXPECT_EQ(port.drain(), Did{"freeze"});
  EXPECT_TRUE(step.next_tick().is_never());
  step.on_tick(at(1000));
  EXPECT_TRUE(port.drain().empty());
  terminate(Duration::seconds(5), at(1001));
  EXPECT_EQ(port.drain(), (Did{"thaw", "signal 18", "signal 15"}));
  step.on_message(SuspendJob{JobId(1), 0, true}, at(1002));
  EXPECT_TRUE(port.drain().empty());  // frozen processes do not die
}

TEST_F(StepSupervisorTest, SuspensionBeforeTheStartFreezesTheTasks) {
  step.on_message(SuspendJob{JobId(1), 0, true}, at(0));
  EXPECT_TRUE(port.drain().empty());
  start(1);
  EXPECT_EQ(port.drain(), Did{"freeze"});
}

TEST_F(StepSupervisorTest, OrdersOfAnotherRunAreNotObeyed) {
  start(1);
  step.on_message(TerminateJob{JobId(1), 1, "", Duration()}, at(1));
  step.on_message(SuspendJob{JobId(1), 1, true}, at(1));
  step.on_message(SignalStep{StepId{JobId(1), 1, 0}, SIGINT, false}, at(1));
  EXPECT_TRUE(port.drain().empty());
}

TEST_F(StepSupervisorTest, FailedStartSaysWhoseFaultItWas) {
  step.on_started(3, Error{ErrorCode::kUnavailable, "no cgroup", ""}, at(0));
  ASSERT_TRUE(port.end);
  EXPECT_TRUE(port.end->is_node_fault);
  EXPECT_EQ(port.end->tasks.size(), 3U);
  EXPECT_EQ(port.end->error, "no cgroup");
  EXPECT_EQ(port.end->tasks[0], ExitStatus::exited(1));
  EXPECT_FALSE(port.end->may_pass);
}

TEST_F(StepSupervisorTest, AFullDiskIsTheNodesFaultAndMayPass) {
  step.on_started(1, Error{ErrorCode::kResourceExhausted, "cannot write the script", ""}, at(0));
  ASSERT_TRUE(port.end);
  EXPECT_TRUE(port.end->is_node_fault);
  EXPECT_TRUE(port.end->may_pass);
}

TEST_F(StepSupervisorTest, AProgramThatCannotBeExecutedEndsWithItsErrno) {
  step.on_started(1, Error{ErrorCode::kNotFound, "execve(): nosuch: No such file or directory", ""},
                  at(0), ExitStatus::exited(ENOENT));
  ASSERT_TRUE(port.end);
  EXPECT_EQ(port.end->tasks[0].code(), 2);
}

struct OwnLimitTest : ::testing::Test {
  static LaunchStep launch(JobKind kind) {
    auto job = std::make_shared<JobSpec>();
    job->kind = kind;
    auto spec = std::make_shared<StepSpec>();
    spec->time_limit = Duration::seconds(60);
    spec->signal_number = SIGUSR1;
    spec->signal_seconds = 20;
    LaunchStep launch = StepSupervisorTest::launch();
    launch.time_left = Duration::seconds(1000);
    launch.job = job;
    launch.step = spec;
    return launch;
  }
  FakePort port;
};

TEST_F(OwnLimitTest, WarnsThenEndsTheStepAndSaysSo) {
  StepSupervisor step(launch(JobKind::kBatch), port, at(0));
  step.on_started(1, std::nullopt, at(0));
  EXPECT_EQ(step.next_tick(), at(40));
  step.on_tick(at(39));
  EXPECT_EQ(port.drain(), Did{});
  step.on_tick(at(40));
  EXPECT_EQ(port.drain(), Did{"signal " + std::to_string(SIGUSR1)});
  step.on_tick(at(59));
  EXPECT_EQ(port.drain(), Did{});
  step.on_tick(at(60));
  EXPECT_EQ(port.drain(), (Did{"notice DUE TO TIME LIMIT", "signal 18", "signal 15"}));
  step.on_task_exit(0, ExitStatus::signalled(15), at(61));
  step.on_empty({}, false);
  EXPECT_TRUE(port.end->is_timeout);
}

TEST_F(OwnLimitTest, StandsStillWhileSuspended) {
  StepSupervisor step(launch(JobKind::kBatch), port, at(0));
  step.on_started(1, std::nullopt, at(0));
  step.on_message(SuspendJob{JobId(1), 0, true}, at(10));
  step.on_tick(at(100));
  step.on_message(SuspendJob{JobId(1), 0, false}, at(110));
  port.drain();
  step.on_tick(at(139));
  EXPECT_EQ(port.drain(), Did{});
  EXPECT_EQ(step.next_tick(), at(140));
}

TEST_F(OwnLimitTest, IsTheJobsWhereTheJobIsTheStep) {
  StepSupervisor step(launch(JobKind::kRun), port, at(0));
  step.on_started(1, std::nullopt, at(0));
  EXPECT_EQ(step.next_tick(), at(1060));
}

}  // namespace
}  // namespace muster

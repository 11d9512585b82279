#include "agent/agent.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

struct FakeWorld final : AgentWorld {
  void send_controller(const FromAgent& message) override { told.push_back(message); }
  Status launch(const std::vector<LaunchStep>& steps) override {
    for (const LaunchStep& step : steps) started.push_back(step.id);
    return {};
  }
  void send_step(const StepId& step, const ToAgent&) override { ordered.push_back(step); }
  void forget(const StepId& step) override { forgotten.push_back(step); }
  std::optional<StepDone> find_end(const StepId&) override { return std::nullopt; }
  void clean_up(const StepId& step) override { cleaned.push_back(step); }
  Heartbeat measure() override { return {}; }

  std::vector<FromAgent> told;
  std::vector<StepId> started, ordered, forgotten, cleaned;
};

LaunchStep launch_of(std::uint32_t job) {
  LaunchStep launch;
  launch.id = StepId{JobId(job), 0, kBatchStep};
  launch.job = std::make_shared<const JobSpec>();
  return launch;
}

const TimePoint kNow = TimePoint::from_seconds(1'000);

TEST(Agent, AnOrderThatComesTwiceStartsOneStep) {
  FakeWorld world;
  Agent agent({}, 0, world);
  agent.on_controller(launch_of(1), kNow);
  agent.on_controller(launch_of(1), kNow);  // in the same turn
  agent.end_turn();
  agent.on_controller(launch_of(1), kNow);  // and in a later one
  agent.end_turn();
  EXPECT_EQ(world.started.size(), 1U);
}

TEST(Agent, AStepThatIsTerminatedBeforeItsTurnEndsNeverStarts) {
  FakeWorld world;
  Agent agent({}, 0, world);
  agent.on_registered(kNow);
  agent.on_controller(launch_of(1), kNow);
  agent.on_controller(TerminateJob{JobId(1), 0, "", Duration()}, kNow);
  agent.end_turn();
  EXPECT_TRUE(world.started.empty());
  EXPECT_TRUE(std::holds_alternative<JobClean>(world.told.back()));
}

TEST(Agent, AStepWithoutASupervisorIsLostAndNotStartedAgain) {
  FakeWorld world;
  Agent agent({}, 0, world);
  agent.on_registered(kNow);
  agent.adopt(launch_of(1).id, std::nullopt, kNow);
  agent.on_tick(kNow + Duration::seconds(4));
  EXPECT_TRUE(world.cleaned.empty());
  agent.on_tick(kNow + Duration::seconds(6));
  ASSERT_EQ(world.cleaned.size(), 1U);
  agent.on_controller(launch_of(1), kNow);
  agent.end_turn();
  EXPECT_TRUE(world.started.empty());
  const auto* done = std::get_if<StepDone>(&world.told.back());
  ASSERT_NE(done, nullptr);
  EXPECT_TRUE(done->is_lost);
}

TEST(Agent, AnotherUsersStepIsRefusedByNameWithoutRoot) {
  FakeWorld world;
  Agent agent({}, 1000, world);
  agent.on_registered(kNow);
  agent.on_controller(launch_of(1), kNow);
  agent.end_turn();
  EXPECT_TRUE(world.started.empty());
  const auto* done = std::get_if<StepDone>(&world.told.back());
  ASSERT_NE(done, nullptr);
  EXPECT_NE(done->error.find("uid 1000"), std::string::npos);
}

}  // namespace
}  // namespace muster

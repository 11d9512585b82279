#include <gtest/gtest.h>

#include "controller/testing.h"
#include "workload/planning/planner_role.h"

namespace muster::testing {
namespace {

/// One node, a job that has all of it for two hours, and one that waits for all of it; beside the
/// rig's planner another one, which plans at its own pace.
struct PlannerPace : ::testing::Test {
  PlannerPace() {
    rig.connect_all();
    running = submit();
    rig.plan();
    waiting = submit();
    shorten("120");
  }
  static std::shared_ptr<JobSpec> whole_node() {
    auto spec = spec_of();
    spec->sharing = Sharing::kExclusive;
    spec->time_limit = Duration::hours(3);
    return spec;
  }
  JobId submit() {
    const Reply reply = rig.done(submit_of(whole_node()));
    EXPECT_FALSE(reply.error) << reply.error->text();
    return reply.job;
  }
  void shorten(const std::string& minutes) {
    const Reply reply = rig.done(
        UpdateObject{UpdateKind::kJob, std::to_string(running.value()), {{"TimeLimit", minutes}}},
        kRoot);
    EXPECT_FALSE(reply.error) << reply.error->text();
  }
  /// Minutes from the job's start to the window of the one that waits; -1: there is no plan;
  /// -2: no window.
  std::int64_t planned(PlannerRole& role, std::int64_t second) {
    const auto result = role.plan(rig.now + Duration::seconds(second));
    if (!result) return -1;
    role.consumed(role.state().seq());
    const sched::Window* window = result->plan->window_of(waiting);
    if (window == nullptr) return -2;
    const TimePoint start = window->start;
    return (start - rig.job(running).start_time).seconds() / 60;
  }
  PlannerRole& follow(PlannerRole& role) {
    role.state().copy_from(rig.core.state());
    role.start();
    return role;
  }
  void tell(PlannerRole& role) {
    for (const EventBatchRef& batch : rig.published) {
      if (batch->seq > role.state().seq()) role.apply(*batch);
    }
  }
  Rig rig{1};
  JobId running;
  JobId waiting;
};

TEST_F(PlannerPace, WhereItIsMuchWorkWindowsAreSoughtNowAndThen) {
  PlannerRole role(0);
  follow(role);
  EXPECT_EQ(planned(role, 1), 120);
  shorten("60");
  tell(role);
  EXPECT_EQ(planned(role, 2), 120) << "the window stands";
  EXPECT_EQ(planned(role, 30), -1) << "nothing has changed";
  EXPECT_EQ(planned(role, 31), 60) << "it has stood for half a minute";
  EXPECT_EQ(planned(role, 90), -1) << "no window has been kept since";
}

TEST_F(PlannerPace, ElseEveryPlanSeeksThem) {
  PlannerRole role;
  follow(role);
  EXPECT_EQ(planned(role, 1), 120);
  shorten("60");
  tell(role);
  EXPECT_EQ(planned(role, 2), 60);
  EXPECT_EQ(planned(role, 60), -1);
}

/// One node, one job that runs, and three that wait for all of it, by `settings`.
std::size_t window_count(void (*set)(ClusterSettings&)) {
  auto config = config_of(1);
  set(config->settings);
  Rig rig{config};
  rig.connect_all();
  for (int i = 0; i < 4; ++i) rig.done(submit_of(PlannerPace::whole_node()));
  PlannerRole role;
  role.state().copy_from(rig.core.state());
  role.start();
  return role.plan(rig.now + Duration::seconds(1))->plan->windows.size();
}

TEST(PlannerWindows, AreAsManyAsTheConfigurationSays) {
  EXPECT_EQ(window_count([](ClusterSettings&) {}), 3U);
  EXPECT_EQ(window_count([](ClusterSettings& set) { set.backfill_windows = 2; }), 2U);
  EXPECT_EQ(window_count([](ClusterSettings& set) { set.backfill_depth = 1; }), 1U);
  EXPECT_EQ(window_count([](ClusterSettings& set) { set.is_backfill = false; }), 1U);
}

}  // namespace
}  // namespace muster::testing

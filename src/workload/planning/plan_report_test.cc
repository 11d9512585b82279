#include "workload/planning/plan_report.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "sched/planner.h"
#include "sched/reasons.h"
#include "sched/testing.h"

namespace muster {
namespace {

using namespace sched::testing;

TEST(JobWords, APictureStaysAsItIs) {
  JobWords words;
  words.set(JobId(7), PendingReason::kResources);
  words.set(JobId(9000), PendingReason::kPriority);
  const JobWords before = words.picture();
  words.set(JobId(7), PendingReason::kPriority);
  words.set(JobId(8), PendingReason::kPriority);
  EXPECT_EQ(before.of(JobId(7)), PendingReason::kResources);
  EXPECT_EQ(before.of(JobId(8)), PendingReason::kNone);
  EXPECT_EQ(before.of(JobId(9000)), PendingReason::kPriority);
  EXPECT_EQ(before.of(JobId(1'000'000)), PendingReason::kNone);
  EXPECT_EQ(words.of(JobId(7)), PendingReason::kPriority);
}

/// A small cluster that is always full, with jobs of a few kinds that come, change, are held, start
/// and end.
struct Site {
  explicit Site(std::uint64_t seed)
      : rng(seed), snapshot(make_snapshot(make_cluster(equal_nodes(4, 4)))) {}

  void add() {
    sched::PendingJob job = make_job(next_id, tasks(static_cast<std::uint32_t>(rng.between(1, 5))),
                                     10 * rng.between(1, 3));
    job.priority = rng.between(0, 3);
    if (rng.chance(0.1)) job.request = std::make_shared<const ResourceRequest>(on_nodes(9, 9));
    next_id += static_cast<std::uint32_t>(rng.chance(0.05) ? rng.between(1, 20'000) : 1);
    waiting.push_back(job.id);
    snapshot.add_pending(std::move(job));
  }
  JobId any() { return waiting[rng.below(waiting.size())]; }
  void change_something() {
    std::erase_if(waiting, [&](JobId job) { return snapshot.find_pending(job) == nullptr; });
    const std::uint64_t what = rng.below(10);
    if (what < 4 || waiting.empty()) return add();
    if (what < 6 && !snapshot.ends().empty()) return snapshot.end_job(snapshot.ends().front().job);
    if (what == 6)
      return snapshot.set_hold(
          any(), rng.chance(0.5) ? PendingReason::kJobHeldUser : PendingReason::kNone);
    if (what == 7) return snapshot.set_priority(any(), rng.between(0, 3));
    if (what == 8) return snapshot.remove_pending(any());
    snapshot.set_node_conditions(NodeIndex(static_cast<std::uint32_t>(rng.below(4))),
                                 rng.chance(0.5) ? node_condition::kDrain : 0);
  }

  Rng rng;
  sched::ClusterSnapshot snapshot;
  sched::Planner planner;
  std::vector<JobId> waiting;
  std::uint32_t next_id = 1;
};

/// As its definition has it, for every job by itself.
PendingReason word_of(const sched::ClusterSnapshot& snapshot, const sched::Plan& plan, JobId job) {
  const sched::Lane& lane = snapshot.lane(snapshot.lane_of(job));
  if (plan.window_of(job) != nullptr) return sched::reason_word(snapshot, plan, job);
  const PendingReason first = sched::reason_word(snapshot, plan, lane.ready.begin()->job);
  if (lane.ready.begin()->job == job) return first;
  return first == PendingReason::kResources ? PendingReason::kPriority : first;
}

class PlanReports : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(PlanReports, SayOfEveryJobWhatALookAtAllOfThemWould) {
  SCOPED_TRACE(fmt::format("seed {}", GetParam()));
  Site site(GetParam());
  PlanReporter reporter;
  sched::PlanOptions options;
  if (site.rng.chance(0.3)) options.reservation_depth = 1;
  std::size_t said = 0;
  for (std::uint64_t round = 1; round <= 200; ++round) {
    for (std::uint64_t i = site.rng.below(4); i-- > 0;) site.change_something();
    const TimePoint now = at(static_cast<std::int64_t>(round));
    site.snapshot.advance_time(now);
    const sched::Plan plan = site.planner.plan(site.snapshot, now, options);
    const auto report = reporter.report(site.snapshot, plan, Seq(round));
    for (const sched::Lane& lane : site.snapshot.lanes()) {
      for (const sched::Rank& rank : lane.ready) {
        const auto told = report->find(rank.job);
        ASSERT_TRUE(told.has_value()) << "job " << rank.job.value() << " in round " << round;
        ASSERT_EQ(told->word, word_of(site.snapshot, plan, rank.job))
            << "job " << rank.job.value() << " in round " << round;
        const sched::Window* window = plan.window_of(rank.job);
        ASSERT_EQ(told->planned_nodes.size(), window == nullptr ? 0 : window->nodes.size());
        if (window != nullptr) {
          ASSERT_EQ(told->expected_start, window->start);
        }
        ++said;
      }
    }
    apply(site.snapshot, plan);
  }
  EXPECT_GT(said, 100U) << "hardly anything waited";
}
INSTANTIATE_TEST_SUITE_P(Seeds, PlanReports, ::testing::Range<std::uint64_t>(1, 40));

TEST(PlanReport, KeepsTheWindowAmongThousandsOfLanes) {
  constexpr std::uint32_t kLanes = 3000;
  sched::ClusterSnapshot snapshot = make_snapshot(make_cluster(equal_nodes(4, 4)));
  sched::Planner planner;
  snapshot.add_pending(make_job(1, tasks(16), 1000));
  snapshot.advance_time(at(1));
  apply(snapshot, planner.plan(snapshot, at(1), {}));
  // All in each other's way, each of a lane of its own, and the last is the next.
  const JobId last(1 + kLanes);
  for (std::uint32_t i = 1; i <= kLanes; ++i) {
    sched::PendingJob job = make_job(1 + i, tasks(16), 60 + i);
    job.priority = job.id == last ? 10 : 1;
    snapshot.add_pending(std::move(job));
  }
  const sched::Plan plan = planner.plan(snapshot, at(1), {});
  const auto report = PlanReporter().report(snapshot, plan, Seq(1));
  ASSERT_NE(plan.window_of(last), nullptr);
  for (std::uint32_t i = 1; i <= kLanes; ++i) {
    const JobId job(1 + i);
    const sched::Window* window = plan.window_of(job);
    const auto told = report->find(job);
    ASSERT_TRUE(told.has_value());
    ASSERT_EQ(told->expected_start, window == nullptr ? TimePoint() : window->start) << i;
    ASSERT_EQ(told->planned_nodes.size(), window == nullptr ? 0 : window->nodes.size()) << i;
  }
}

}  // namespace
}  // namespace muster

// Experiments of very many trials: what is asked of them is done a bounded part a turn, whatever is
// asked or fails meanwhile.
#include <gtest/gtest.h>

#include <algorithm>

#include "controller/experiments/testing.h"

namespace muster {
namespace {

using testing::kAlice;
using testing::Lab;

std::size_t waiting(const Lab& lab, bool is_held) {
  return static_cast<std::size_t>(
      std::ranges::count_if(lab.rig.core.state().experiments().trials(), [&](const auto& entry) {
        const Job* job = lab.rig.core.state().jobs().find(entry.second.job);
        return job != nullptr && job->is_pending() &&
               ((job->flags & job_flag::kTrialHeld) != 0) == is_held;
      }));
}

TEST(ExperimentParts, ALargeOneChangesPartByPartAndWhole) {
  Lab lab;
  const ExperimentId id = lab.create(
      "{name: e, entrypoint: train, hyperparameters: {lr: {type: double, minval: 0, maxval: 1}}, "
      "searcher: {name: random, metric: loss, max_trials: 2000, max_concurrent_trials: 1000}}");
  constexpr std::size_t kWaiting = 996;  // four have the nodes
  ASSERT_EQ(waiting(lab, false), kWaiting);
  const auto ask = [&](ExperimentVerb verb) {
    lab.rig.ask({ControlExperiments{verb, {id}}});
    lab.rig.flush();
  };
  ask(ExperimentVerb::kPause);
  EXPECT_EQ(lab.experiment(id).state, ExperimentState::kPaused);
  EXPECT_LT(waiting(lab, true), 300U) << "the turn has its bound";
  Lab next(lab.rig.journal);  // killed before it got further
  next.rig.work();
  EXPECT_EQ(waiting(next, true), kWaiting);
  EXPECT_GT(lab.rig.work(), 2U);
  EXPECT_EQ(waiting(lab, true), kWaiting);
  // The word that comes last holds, and nothing of the one before comes after it.
  ask(ExperimentVerb::kActivate);
  ask(ExperimentVerb::kPause);
  ask(ExperimentVerb::kActivate);
  lab.rig.work();
  EXPECT_EQ(waiting(lab, false), kWaiting);
  for (const auto& batch : lab.rig.published) EXPECT_LE(batch->events.size(), 3000U);
  ask(ExperimentVerb::kKill);
  lab.rig.work();
  EXPECT_EQ(waiting(lab, false) + waiting(lab, true), 0U);
  const auto is_by_alice = [&](const HistoryRecord& record) {
    const auto* view = std::get_if<JobView>(&record.object);
    return view == nullptr || view->state != JobState::kCancelled ||
           view->cancelled_by == kAlice.user;
  };
  EXPECT_TRUE(std::ranges::all_of(lab.rig.history, is_by_alice));
}

}  // namespace
}  // namespace muster

#include "model/experiment.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using enum ExperimentState;

std::optional<ExperimentState> end_of(ExperimentState state, std::optional<SearchOutcome> outcome,
                                      std::uint32_t open_trials = 0) {
  Experiment experiment;
  experiment.state = state;
  experiment.outcome = outcome;
  experiment.open_trials = open_trials;
  return end_state(experiment);
}

TEST(ExperimentEnd, FollowsFromTheSearchsOutcome) {
  for (const ExperimentState state : {kActive, kPaused}) {
    EXPECT_EQ(end_of(state, std::nullopt), std::nullopt) << "the search goes on";
    EXPECT_EQ(end_of(state, SearchOutcome::kCompleted), kCompleted);
    EXPECT_EQ(end_of(state, SearchOutcome::kCanceled), kCanceled);
    EXPECT_EQ(end_of(state, SearchOutcome::kFailed), kError);
  }
}

TEST(ExperimentEnd, WhatStopsItSaysHowItEndsWhateverTheSearchFound) {
  for (const auto& outcome :
       {std::optional<SearchOutcome>(), std::optional(SearchOutcome::kCompleted),
        std::optional(SearchOutcome::kFailed)}) {
    EXPECT_EQ(end_of(kStoppingCanceled, outcome), kCanceled);
    EXPECT_EQ(end_of(kStoppingKilled, outcome), kCanceled);
    EXPECT_EQ(end_of(kStoppingError, outcome), kError);
  }
}

TEST(ExperimentEnd, WaitsForTheLastTrialAndComesOnce) {
  EXPECT_EQ(end_of(kActive, SearchOutcome::kCompleted, 1), std::nullopt);
  EXPECT_EQ(end_of(kStoppingKilled, std::nullopt, 1), std::nullopt);
  for (const ExperimentState over : {kCompleted, kCanceled, kError, kDeleting, kDeleteFailed})
    EXPECT_EQ(end_of(over, SearchOutcome::kCompleted), std::nullopt);
}

TEST(ExperimentState, EveryStateIsSearchingStoppingOrFinal) {
  for (int i = 0; i <= static_cast<int>(kDeleteFailed); ++i) {
    const auto state = static_cast<ExperimentState>(i);
    const bool is_stopping =
        state == kStoppingCanceled || state == kStoppingKilled || state == kStoppingError;
    EXPECT_EQ(is_searching(state) + is_final(state) + is_stopping, 1) << i;
  }
}

TEST(Visibility, IsNamedInOneWay) {
  EXPECT_EQ(visibility_named("private"), Visibility::kPrivate);
  EXPECT_EQ(visibility_named("project"), Visibility::kProject);
  EXPECT_EQ(visibility_named("cluster"), Visibility::kCluster);
  for (const char* other : {"", "Private", "public", "privat"})
    EXPECT_EQ(visibility_named(other), std::nullopt) << other;
}

TEST(Trial, HasItsExperimentsSlotsUntilItsOwnAreSet) {
  ExperimentSpec spec;
  spec.slots_per_trial = 8;
  Trial trial;
  EXPECT_EQ(slots_of(trial, spec), 8U);
  trial.slots = 3;
  EXPECT_EQ(slots_of(trial, spec), 3U);
  EXPECT_FALSE(spec.is_elastic());
  spec.min_slots_per_trial = 1;
  EXPECT_TRUE(spec.is_elastic());
}

}  // namespace
}  // namespace muster

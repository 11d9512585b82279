#include "api/determined/names.h"

#include <gtest/gtest.h>

namespace muster::api {
namespace {

ExperimentView active(std::uint32_t running, std::uint32_t queued) {
  ExperimentView view;
  view.state = ExperimentState::kActive;
  view.trials.running = running;
  view.trials.queued = queued;
  return view;
}

TEST(StateNames, AnActiveExperimentIsWhatItsTrialsAre) {
  EXPECT_EQ(state_name(active(1, 5)), "STATE_RUNNING");
  EXPECT_EQ(state_name(active(0, 5)), "STATE_QUEUED");
  EXPECT_EQ(state_name(active(0, 0)), "STATE_ACTIVE");
}

TEST(StateNames, EveryOtherStateHasDeterminedsName) {
  const std::pair<ExperimentState, const char*> names[] = {
      {ExperimentState::kPaused, "STATE_PAUSED"},
      {ExperimentState::kStoppingCanceled, "STATE_STOPPING_CANCELED"},
      {ExperimentState::kStoppingKilled, "STATE_STOPPING_KILLED"},
      {ExperimentState::kStoppingError, "STATE_STOPPING_ERROR"},
      {ExperimentState::kCompleted, "STATE_COMPLETED"},
      {ExperimentState::kCanceled, "STATE_CANCELED"},
      {ExperimentState::kError, "STATE_ERROR"},
      {ExperimentState::kDeleting, "STATE_DELETING"},
      {ExperimentState::kDeleteFailed, "STATE_DELETE_FAILED"}};
  for (const auto& [state, name] : names) {
    ExperimentView view = active(1, 1);
    view.state = state;
    EXPECT_EQ(state_name(view), name);
  }
}

TEST(StateNames, ATrialThatIsOverIsNothingElse) {
  TrialView trial;
  trial.job_state = JobState::kRunning;
  trial.stopping = StopCall::kCancel;
  trial.state = TrialState::kCompleted;
  EXPECT_EQ(state_name(trial, ExperimentState::kActive), "STATE_COMPLETED");
  trial.state = TrialState::kCanceled;
  EXPECT_EQ(state_name(trial, ExperimentState::kActive), "STATE_CANCELED");
  trial.state = TrialState::kError;
  EXPECT_EQ(state_name(trial, ExperimentState::kPaused), "STATE_ERROR");
}

TEST(StateNames, ATrialIsAskedToStopBeforeItRuns) {
  TrialView trial;
  trial.state = TrialState::kActive;
  trial.job_state = JobState::kRunning;
  EXPECT_EQ(state_name(trial, ExperimentState::kPaused), "STATE_RUNNING");
  trial.stopping = StopCall::kCancel;
  EXPECT_EQ(state_name(trial, ExperimentState::kActive), "STATE_STOPPING_CANCELED");
  trial.stopping = StopCall::kSearch;
  EXPECT_EQ(state_name(trial, ExperimentState::kActive), "STATE_STOPPING_COMPLETED");
}

TEST(StateNames, ATrialThatDoesNotRunIsPausedOrQueued) {
  TrialView trial;
  trial.state = TrialState::kActive;
  trial.job_state = JobState::kPending;
  EXPECT_EQ(state_name(trial, ExperimentState::kActive), "STATE_QUEUED");
  EXPECT_EQ(state_name(trial, ExperimentState::kPaused), "STATE_PAUSED");
  trial.is_waiting = true;
  EXPECT_EQ(state_name(trial, ExperimentState::kActive), "STATE_PAUSED");
}

TEST(StateNames, TimesAndWideNumbersAreTexts) {
  EXPECT_EQ(time_json(TimePoint::from_seconds(1)), Json("1970-01-01T00:00:01.000000Z"));
  EXPECT_EQ(time_json(TimePoint::never()), Json());
  EXPECT_EQ(time_json(TimePoint::unset()), Json());
  EXPECT_EQ(wide(UINT64_MAX), Json("18446744073709551615"));
  EXPECT_EQ(user_number(UserId(0)), 1U);
}

}  // namespace
}  // namespace muster::api

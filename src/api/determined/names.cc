// States by Determined's words.

#include "api/determined/names.h"

#include "text/web_time.h"
#include "trials/checkpoint_text.h"

namespace muster::api {

std::string state_name(const ExperimentView& experiment) {
  switch (experiment.state) {
    case ExperimentState::kActive:
      // Active experiments are told apart by what their trials do.
      if (experiment.trials.running > 0) return "STATE_RUNNING";
      return experiment.trials.queued > 0 ? "STATE_QUEUED" : "STATE_ACTIVE";
    case ExperimentState::kPaused: return "STATE_PAUSED";
    case ExperimentState::kStoppingCanceled: return "STATE_STOPPING_CANCELED";
    case ExperimentState::kStoppingKilled: return "STATE_STOPPING_KILLED";
    case ExperimentState::kStoppingError: return "STATE_STOPPING_ERROR";
    case ExperimentState::kCompleted: return "STATE_COMPLETED";
    case ExperimentState::kCanceled: return "STATE_CANCELED";
    case ExperimentState::kError: return "STATE_ERROR";
    case ExperimentState::kDeleting: return "STATE_DELETING";
    case ExperimentState::kDeleteFailed: return "STATE_DELETE_FAILED";
  }
  return "STATE_UNSPECIFIED";
}

std::string state_name(const TrialView& trial, ExperimentState experiment) {
  switch (trial.state) {
    case TrialState::kCompleted: return "STATE_COMPLETED";
    case TrialState::kCanceled: return "STATE_CANCELED";
    case TrialState::kError: return "STATE_ERROR";
    case TrialState::kActive: break;
  }
  // What is asked to stop shows why it stops.
  if (trial.stopping) {
    if (*trial.stopping == StopCall::kCancel) return "STATE_STOPPING_CANCELED";
    if (*trial.stopping == StopCall::kSearch) return "STATE_STOPPING_COMPLETED";
  }
  if (trial.job_state == JobState::kRunning) return "STATE_RUNNING";
  // A trial of a paused experiment shows as paused, whatever its job is.
  if (experiment == ExperimentState::kPaused || trial.is_waiting) return "STATE_PAUSED";
  return trial.job_state == JobState::kPending ? "STATE_QUEUED" : "STATE_ACTIVE";
}

std::string state_name(CheckpointState state) {
  return "STATE_" + std::string(checkpoint_state_name(state));
}

Json time_json(TimePoint time) {
  std::string text = web_time_text(time);
  // No time is no value, rather than an empty text.
  return text.empty() ? Json() : Json(std::move(text));
}

// Protobuf's JSON writes 64 bits as text.
Json wide(std::uint64_t value) { return std::to_string(value); }

}  // namespace muster::api

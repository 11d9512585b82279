#include "model/experiment.h"

namespace muster {

std::optional<ExperimentState> end_state(const Experiment& experiment) {
  // Either the search has said that it is over, or a stop was asked for: from then on no trial is
  // created.
  const bool is_last = experiment.outcome.has_value() || !is_searching(experiment.state);
  if (is_final(experiment.state) || !is_last || experiment.open_trials != 0) return std::nullopt;
  // A stop that was asked for decides the end, whatever the search reported since.
  switch (experiment.state) {
    case ExperimentState::kStoppingCanceled:
    case ExperimentState::kStoppingKilled: return ExperimentState::kCanceled;
    case ExperimentState::kStoppingError: return ExperimentState::kError;
    default: break;
  }
  switch (experiment.outcome.value_or(SearchOutcome::kCompleted)) {
    case SearchOutcome::kCompleted: return ExperimentState::kCompleted;
    case SearchOutcome::kCanceled: return ExperimentState::kCanceled;
    case SearchOutcome::kFailed: return ExperimentState::kError;
  }
  return ExperimentState::kError;
}

}  // namespace muster

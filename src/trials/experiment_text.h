// The words for what experiments and trials are doing, as Determined's users know them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/experiment.h"
#include "model/json.h"
#include "model/view.h"

namespace muster {

/// Returns "ACTIVE", "PAUSED", "STOPPING_CANCELED", ...
std::string_view experiment_state_name(ExperimentState state);
/// Returns "ACTIVE", "COMPLETED", "CANCELED", "ERROR".
std::string_view trial_state_name(TrialState state);
/// Returns "preempt", "pause", "rung", "search", "cancel".
std::string_view stop_call_name(StopCall call);
/// Returns its configuration, with the seed that it has also where none was written. Errors:
/// kCorruption: it is no object.
Result<Json> config_with_seed(const ExperimentSpec& spec);
/// Returns why a search ended a trial: "cut at rung 1: 7th of 12, the best 3 go on".
std::string stop_reason_text(const StopReason& reason);
/// Returns why a trial has ended: its search's reason, its failure, "ended at 60 of 180". Empty for
/// one that has not ended.
std::string trial_end_text(const TrialView& trial);

}  // namespace muster

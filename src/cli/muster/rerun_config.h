// Makes the configuration under which something runs again.
#pragma once

#include "base/result.h"
#include "model/experiment.h"
#include "model/json.h"
#include "model/view.h"

namespace muster::cli {

/// Returns the whole experiment's configuration, with the seed that it had. Errors: kCorruption:
/// its configuration cannot be read.
Result<Json> rerun_of(const ExperimentSpec& spec);
/// Returns one trial's alone: its hyperparameters, its seed, and training as far as it came where
/// its units can be counted.
Result<Json> rerun_of(const ExperimentSpec& spec, const TrialView& trial);

}  // namespace muster::cli

// Shows what trials' tasks wrote: `muster trial logs` and `muster experiment logs`. Words are the
// arguments behind the verb.
#pragma once

#include "cli/lib/console.h"

namespace muster::cli {

int run_trial_logs(const Words& words);
int run_experiment_logs(const Words& words);

}  // namespace muster::cli

// Hyperband: brackets of synchronous halving that trade the number of trials against training from
// the start. Source: Li, Jamieson, DeSalvo, Rostamizadeh, Talwalkar: Hyperband, JMLR 18, 2018,
// algorithm 1. Of the tables in use this is that of the algorithm: n = ceil((s_max + 1) / (s + 1) *
// eta^s) trials, floor(n / eta^i) of them at rung i.
#pragma once

#include "search/sync_halving.h"

namespace muster::search {

/// Returns all brackets, most trials first. Units: R = max_time, eta = divisor. Exact: whole
/// numbers throughout.
std::vector<SyncBracketPlan> hyperband_brackets(const Hyperband& config);

}  // namespace muster::search

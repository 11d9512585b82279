// Says what the end of a run means for its trial, and what a run is given. These are rules alone:
// nothing is changed here. Source: Determined 0.38, order of checks at the end of an allocation;
// max_restarts counts failures of the script alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/event.h"
#include "state/cluster_state.h"
#include "state/trial_of_job.h"

namespace muster {

/// Turns the end of a run into what it is for its trial: its last, a stop that was asked for, or a
/// failure after which it is tried again. `is_own_fault`: the script ended by itself. It leaves
/// other jobs' ends alone.
void decide_run_end(const ClusterState& state, const Job& job, bool is_own_fault,
                    JobEnding& ending);

/// Returns how a trial ended whose job is over. Requires: job.is_over().
TrialEnded trial_end(const ClusterState& state, const Job& job, const Trial& trial);

/// Returns the trials that are COMPLETED below a target that nobody called off, because their
/// search has lost them: a line each; an old journal may hold some. Cost: O(trials).
std::vector<std::string> trial_findings(const ClusterState& state);

/// Returns when a trial's run is asked to stop because its job's time will be over: its training
/// goes on in another run. That is a tenth of the limit before the end, at least a minute where the
/// limit allows that, and never more than the grace of a stop. Requires: the job runs and has an
/// end.
TimePoint stop_before_limit_at(const ClusterState& state, const Job& job, const Trial& trial);

/// Returns when the experiment's budget will be used up if everything goes on as it does now;
/// nothing: never. Not before `now`.
std::optional<TimePoint> budget_end(const ClusterState& state, const Experiment& experiment,
                                    TimePoint now);

}  // namespace muster

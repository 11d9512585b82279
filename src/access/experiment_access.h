// Decides who may act on which experiment, and which run of a trial may speak for it.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/request.h"
#include "state/cluster_state.h"

namespace muster::access {

Error not_allowed();
bool may_control(const Experiment& experiment, const Identity& identity);

/// Who may read an experiment's code, configuration and logs.
struct Readers {
  bool is_everybody = false;
  std::vector<UserId> users;  ///< its owner first
  bool has(const Identity& identity) const;
};
Readers readers_of(const ClusterState& state, const Experiment& experiment);
/// Checks that the caller may read the experiment. Errors: kPermissionDenied, with the way to be
/// let in.
Status check_readable(const ClusterState& state, const Experiment& experiment,
                      const Identity& identity);

/// Returns the experiment, if it is there and the caller's. Errors: kNotFound, kPermissionDenied.
Result<const Experiment*> find_own(const ClusterState& state, ExperimentId id,
                                   const Identity& identity);

/// Returns the trial of a message from its present run, which counts from 1. Errors: as find_own;
/// kFailedPrecondition: another run has replaced it, or the trial has ended.
Result<const Trial*> find_running(const ClusterState& state, TrialId id, std::uint32_t run,
                                  const Identity& identity);

}  // namespace muster::access

// Finds runs and steps by the names that agents give.
#pragma once

#include <cstdint>

#include "model/job.h"
#include "state/cluster_state.h"

namespace muster {

/// Returns the job of that attempt with its run; null: it is over, or was never.
const Job* running_job(const ClusterState& state, JobId id, std::uint32_t attempt);
/// Returns the step of the job's present run that was launched with that key. Null: it is over and
/// forgotten, or what has its number was launched before an older copy of the state was restored;
/// also for a null job.
const StepState* own_step(const Job* job, const StepId& id, std::uint64_t launch_key);

}  // namespace muster

// Removes a job from the state while no controller runs: the way out when each start dies of it.
// See `musterd --drop-job`.
#pragma once

#include "model/event.h"
#include "state/cluster_state.h"

namespace muster {

/// Ends the job under `epoch`, with its steps and, if it is a trial's, the trial; its nodes have
/// room again. The events are applied to `state`; the batch that is returned is to be journalled.
/// Of an array's record the elements that wait end with it. Errors: kNotFound; kFailedPrecondition:
/// it has ended.
Result<EventBatch> drop_job(ClusterState& state, JobId job, Epoch epoch, TimePoint now);

}  // namespace muster

// Validates requests against the state and drafts the events that they mean. Takes every decision
// that has to be taken on the way in (ids, effective limits, permissions) and changes nothing
// itself.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/draft.h"

namespace muster {

/// Errors of every function: Slurm's text in `message`, the cause and the way out in `detail`.
namespace requests {

/// Cancels or signals what the filter names. Signals go to `orders`. One outcome per job named by
/// id.
Reply cancel(Draft& draft, const CancelJobs& cancel, const Identity& identity,
             std::vector<SignalOrder>& orders);
Reply cancel_step(Draft& draft, const CancelStep& cancel, const Identity& identity,
                  std::vector<SignalOrder>& orders);

/// hold, release, requeue, suspend, resume.
Reply control(Draft& draft, const ControlJobs& control, const Identity& identity);

/// scontrol update.
Reply update(Draft& draft, const PreparedUpdate& update, const Identity& identity);

/// A step inside an allocation. kUnavailable: the job's resources are in use by other steps, ask
/// again when one ends.
Result<StepCreated> create_step(const ClusterState& state, JobId job, StepSpecRef spec,
                                const Identity& identity);
/// The layout of a step in a job that holds resources. Requires: job.run.
Result<StepLayoutRef> lay_out_step(const ClusterState& state, const Job& job, const StepSpec& spec);
/// The layout of the step that the allocation was made for: it has all of it or, with -n and
/// --exact, what its tasks need. Tasks share nodes evenly; without -n there is one on each node at
/// least. Nodes that serve devices beyond the tasks asked for, as with "-n1 --gpus=4" on nodes of
/// two, have no task of it. Requires: job.run, job.first_step.
StepLayoutRef lay_out_first_step(const ClusterState& state, const Job& job);

/// For who asks for a step by the key of its launch when another step has the number: that of a
/// lost branch of the state.
Error number_is_anothers(const StepId& step);

/// The end of an allocation, asked for by its client.
Reply release_allocation(Draft& draft, const ReleaseAllocation& release, const Identity& identity);

/// The records that a selector means: the job or array record, or the elements of it that it names,
/// as far as they are there; the array's record for those that have not split off. Errors:
/// kNotFound "Invalid job id specified": there is no such job or array.
Result<std::vector<JobId>> resolve(const ClusterState& state, const JobSelector& selector);
/// True when the job meets every condition of the filter but its ids.
bool matches(const ClusterState& state, const Job& job, const JobFilter& filter);

}  // namespace requests
}  // namespace muster

// Validates requests against the state and drafts the events that they mean. It makes every
// decision that is due on the way in (ids, effective limits, permissions) and changes nothing
// itself.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/draft.h"

namespace muster {

/// The functions' errors have Slurm's text in `message`, the cause and the way out in `detail`.
namespace requests {

/// Cancels or signals what the filter names. Signals go to `orders`. There is one outcome per job
/// named by id.
Reply cancel(Draft& draft, const CancelJobs& cancel, const Identity& identity,
             std::vector<SignalOrder>& orders);
Reply cancel_step(Draft& draft, const CancelStep& cancel, const Identity& identity,
                  std::vector<SignalOrder>& orders);

/// Drafts hold, release, requeue, suspend and resume.
Reply control(Draft& draft, const ControlJobs& control, const Identity& identity);

/// Drafts scontrol update.
Reply update(Draft& draft, const PreparedUpdate& update, const Identity& identity);

/// Creates a step inside an allocation. kUnavailable: the job's resources are in use by other
/// steps, ask again when one ends.
Result<StepCreated> create_step(const ClusterState& state, JobId job, StepSpecRef spec,
                                const Identity& identity);
/// Returns the layout of a step in a job that holds resources. Requires: job.run.
Result<StepLayoutRef> lay_out_step(const ClusterState& state, const Job& job, const StepSpec& spec);
/// Returns the layout of the step that the allocation was made for: it has all of it or, with -n
/// and --exact, what its tasks need. Tasks share nodes evenly; without -n there is one on each node
/// at least. Nodes that serve devices beyond the tasks asked for, as with "-n1 --gpus=4" on nodes
/// of two, have no task of it. Requires: job.run, job.first_step.
StepLayoutRef lay_out_first_step(const ClusterState& state, const Job& job);

/// Returns the refusal for a request that names a step by the key of its launch when another step
/// has the number: it meant a step of a lost branch of the state.
Error number_is_anothers(const StepId& step);

/// Ends an allocation as its client asked.
Reply release_allocation(Draft& draft, const ReleaseAllocation& release, const Identity& identity);

/// Returns the records that a selector means: the job or array record, or the elements of it that
/// it names, as far as they are there; the array's record for those that have not split off.
/// Errors: kNotFound "Invalid job id specified": there is no such job or array.
Result<std::vector<JobId>> resolve(const ClusterState& state, const JobSelector& selector);
/// True when the job meets every condition of the filter but its ids.
bool matches(const ClusterState& state, const Job& job, const JobFilter& filter);

}  // namespace requests
}  // namespace muster

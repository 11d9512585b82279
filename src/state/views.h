// Objects of the state as queries and history show them: complete values that stay valid when the
// state goes on. All are pure functions of their arguments; who may see what is not decided here.
#pragma once

#include "model/view.h"
#include "state/cluster_state.h"

namespace muster {

/// Returns the view of a job. Every detail but kFull leaves out grants, node names, TRES and
/// expanded file names. `reasons`: why the planner did not start the job, used where the state
/// itself has no reason; null: it has not said. `now`: a time that has surely come; the later of it
/// and the state's last event decides whether a begin time is ahead. Requires: the job's nodes and
/// partitions are in the state. Cost: O(nodes + steps of the job).
JobView view_of(const Job& job, const ClusterState& state, QueryDetail detail,
                const Reasons* reasons = nullptr, TimePoint now = {});
/// Returns the view of a step, without the key of its streams, which is a secret. Cost: O(nodes of
/// the step).
StepView view_of(const StepState& step, const Job& job, const ClusterState& state);
/// Returns the view of a node. Requires: there is one of that index. Cost: O(jobs of the node +
/// partitions).
NodeView view_of(NodeIndex index, const ClusterState& state);
PartitionView view_of(const PartitionConfig& partition, const ClusterState& state);
/// Returns the view of an experiment. Every detail but kFull leaves out the configuration's texts
/// and the job. Cost: O(trials).
ExperimentView view_of(const Experiment& experiment, const ClusterState& state, QueryDetail detail);
/// Returns the view of a trial. Requires: its experiment is in the state. Cost: O(checkpoints of
/// the trial).
TrialView view_of(const Trial& trial, const ClusterState& state);

/// Returns for how many days a trial's logs are kept after its experiment's end; -1: for ever. The
/// trial's own number comes first, then its experiment's, then the cluster's.
std::int32_t log_retention_of(const Trial& trial, const ClusterState& state);

/// Returns "batch", "extern" or "interactive" for the steps of these kinds; else the name that its
/// srun gave it, or the job's where it has no specification.
std::string step_name(const StepState& step, const Job& job);

/// Returns the node's position in the step's layout; nullopt: the step is not on it. Cost:
/// O(nodes).
std::optional<std::size_t> part_on(const StepState& step, NodeIndex node);

/// Returns the names of a job's nodes in the order of its allocation.
std::vector<std::string> node_names(const std::vector<NodeGrant>& grants,
                                    const ClusterState& state);

/// Returns the absolute path of a batch job's kStdOut, kStdErr or kStdIn; empty for a job of
/// another kind. An absent path becomes Slurm's default (slurm-%j.out, /dev/null; errors go with
/// the output). Patterns are expanded as far as they are known; those of an array that is not one
/// element stay as they are.
std::string job_file(const Job& job, const ClusterState& state, JobText key);

}  // namespace muster

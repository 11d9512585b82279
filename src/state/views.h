// Objects of the state as queries and history show them.
#pragma once

#include "model/view.h"
#include "state/cluster_state.h"

namespace muster {

/// All but kFull leave out grants, node names, TRES and expanded file names. `reasons` come from
/// the planner; null: none yet. `now`: a time that is known to have come, which the state's last
/// event may be before. Cost: O(nodes of the job).
JobView view_of(const Job& job, const ClusterState& state, QueryDetail detail,
                const Reasons* reasons = nullptr, TimePoint now = {});
StepView view_of(const StepState& step, const Job& job, const ClusterState& state);
NodeView view_of(NodeIndex index, const ClusterState& state);
PartitionView view_of(const PartitionConfig& partition, const ClusterState& state);
/// All but kFull leave out the configuration's texts. Cost: O(trials).
ExperimentView view_of(const Experiment& experiment, const ClusterState& state, QueryDetail detail);
TrialView view_of(const Trial& trial, const ClusterState& state);

/// For how many days a trial's logs are kept after its experiment's end; -1: for ever.
std::int32_t log_retention_of(const Trial& trial, const ClusterState& state);

/// The step that stands for the batch script, the interactive shell, or "N".
std::string step_name(const StepState& step, const Job& job);

/// The position in the step's layout that is on the node; nullopt: none is.
std::optional<std::size_t> part_on(const StepState& step, NodeIndex node);

/// Names of a job's nodes in the order of its allocation.
std::vector<std::string> node_names(const std::vector<NodeGrant>& grants,
                                    const ClusterState& state);

/// Expands the patterns of a job's output path that are known before any task runs.
std::string job_file(const Job& job, const ClusterState& state, JobText key);

}  // namespace muster

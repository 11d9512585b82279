// Checks what a job must satisfy to be in its partitions: when it is submitted and again when it is
// updated.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/command.h"
#include "model/resource_request.h"
#include "state/cluster_state.h"

namespace muster::admission {

/// Returns the partitions that a comma list names, in its order; for an empty one those that are
/// default. Errors: kInvalidArgument: a name that there is not (cause kUnknownPartition), or no
/// default.
Result<std::vector<PartitionIndex>> choose_partitions(const ClusterState& state,
                                                      std::string_view wanted);

/// Checks that the caller may submit to the partition, with the job's account, group and quality of
/// service. Errors: kFailedPrecondition: it is DRAIN or INACTIVE (one that is DOWN accepts jobs);
/// kPermissionDenied: root's alone (operators pass), or not for the account, the groups or the QOS.
Status check_access(const PartitionConfig& partition, const JobSpec& spec,
                    const Identity& identity);

/// Checks the partition's limits on time and nodes. Succeeds where EnforcePartLimits is off: such a
/// job waits instead. Errors: kInvalidArgument.
Status check_limits(const PartitionConfig& partition, const JobSpec& spec,
                    const ClusterSettings& settings);

/// Checks MaxMemPerNode, the partition's or else the cluster's, against the memory per node, per
/// GPU, or per CPU times the CPUs that the request surely has on one node. MaxMemPerCPU is no
/// refusal: apply_memory_rules() raises CPUs for it. Succeeds where no limit is set or no memory is
/// asked for. Units: MiB. Errors: kInvalidArgument. Source: slurm.conf(5), MaxMemPerNode.
Status check_memory(const PartitionConfig& partition, const ResourceRequest& need,
                    const ClusterSettings& settings);

/// Checks that the nodes, generic resources and features that the request names exist in the
/// cluster, and that it does not contradict itself: it asks for a GPU where it asks for memory by
/// GPU, and names no more nodes than it may have. Whether what there is suffices is not checked.
/// Errors: kInvalidArgument. Cost: O(nodes) for each feature.
Status check_request(const ClusterState& state, const ResourceRequest& need);

/// Returns the time from which a job may start once its dependencies, if any, are fulfilled: the
/// latest of `now`, its begin time, and what its `after:…+minutes` dependencies add. `dependencies`
/// may be null.
TimePoint eligible_from(TimePoint now, const JobSpec& spec, const DependencySet* dependencies);

/// Checks that a dependency can be decided: its job was submitted, and is in memory, or history has
/// decided the term already, or any end fulfils it. Singletons need no job. Errors:
/// kInvalidArgument "Job dependency problem".
Status check_dependency(const ClusterState& state, const DependencyTerm& term);

}  // namespace muster::admission

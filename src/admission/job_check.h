// What a job must satisfy to be in its partitions: asked when it is submitted and again when it is
// updated.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/command.h"
#include "model/resource_request.h"
#include "state/cluster_state.h"

namespace muster::admission {

/// The partitions that a comma list names, or the default one. Errors: kInvalidArgument.
Result<std::vector<PartitionIndex>> choose_partitions(const ClusterState& state,
                                                      std::string_view wanted);

/// May the caller use the partition, with that account and quality of service? Errors:
/// kPermissionDenied, kFailedPrecondition for one that takes no jobs.
Status check_access(const PartitionConfig& partition, const JobSpec& spec,
                    const Identity& identity);

/// The limits on time and nodes, where EnforcePartLimits makes them conditions. Errors:
/// kInvalidArgument.
Status check_limits(const PartitionConfig& partition, const JobSpec& spec,
                    const ClusterSettings& settings);

/// MaxMemPerNode, and MaxMemPerCPU for memory per node: the partition's, else the cluster's.
/// Errors: kInvalidArgument. Source: slurm.conf(5).
Status check_memory(const PartitionConfig& partition, const ResourceRequest& need,
                    const ClusterSettings& settings);

/// Nodes, generic resources and features that the request names are there, and GPUs where memory is
/// asked for by GPU. Errors: kInvalidArgument.
Status check_names(const ClusterState& state, const ResourceRequest& need);

/// From when on a job may start whose dependencies, if it has any, are fulfilled.
TimePoint eligible_from(TimePoint now, const JobSpec& spec, const DependencySet* dependencies);

/// The job that a term names was submitted, and how it ended is known where that matters. Errors:
/// kInvalidArgument "Job dependency problem".
Status check_dependency(const ClusterState& state, const DependencyTerm& term);

/// More memory per CPU than MaxMemPerCPU allows is had by more CPUs per task. Source:
/// slurm.conf(5), MaxMemPerCPU.
void spread_memory(JobSpec& spec, const PartitionConfig& partition,
                   const ClusterSettings& settings);

}  // namespace muster::admission

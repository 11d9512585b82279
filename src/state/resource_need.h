// Turns what a user asked for into what the planner compares, with the partition's and the
// cluster's defaults filled in.
#pragma once

#include "base/result.h"
#include "model/cluster_config.h"
#include "model/job_spec.h"
#include "model/resource_request.h"

namespace muster {

/// True when the request gives a number of GPUs above 0, for the node, the job or the task.
/// --ntasks-per-gpu alone implies GPUs without a number and does not count.
bool wants_gpu(const ResourceRequest& need);

/// Returns what a job needs in one partition. Memory that the job does not ask for is the
/// partition's default, else the cluster's, else none; where the cluster does not count memory it
/// is none in any case. Shape: the node, task and CPU counts are such that an allocation of them
/// also satisfies MaxTasksPerNode (for a run), --ntasks-per-node and the required nodes. The memory
/// rules are applied to what was asked for, whichever partition's `spec.request` shows. Requires:
/// the lists of `spec.request` are parsed; texts of `spec` are not read. Errors: kInvalidArgument
/// with Slurm's text when the devices asked for contradict each other. Determinism: a function of
/// its arguments.
Result<ResourceRequest> resource_need(const JobSpec& spec, const PartitionConfig& partition,
                                      const ClusterSettings& settings);

/// Makes the job's request what the memory rules of one partition, or else of the cluster, make of
/// what was asked for, and keeps the latter in `asked`. A job without memory gets the default
/// where the cluster counts memory. MaxMemPerCPU raises CPUs in any case: with memory per CPU the
/// CPUs per task rise and the memory of each falls; with memory per node the least CPUs per node
/// rise. Counts stop at kCountMax. Source: slurm.conf(5), DefMemPerCPU, DefMemPerNode,
/// DefMemPerGPU, MaxMemPerCPU.
void apply_memory_rules(JobSpec& spec, const PartitionConfig& partition,
                        const ClusterSettings& settings);

/// True when the job's request is what apply_memory_rules() would make of it. Cost: no copy.
bool has_memory_rules_of(const JobSpec& spec, const PartitionConfig& partition,
                         const ClusterSettings& settings);

/// Makes the job's request again what was asked for.
void drop_memory_rules(JobSpec& spec);

}  // namespace muster

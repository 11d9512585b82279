// From what a user asked for to what the planner compares: the partition's and the cluster's
// defaults filled in.
#pragma once

#include "base/result.h"
#include "model/cluster_config.h"
#include "model/job_spec.h"
#include "model/resource_request.h"

namespace muster {

/// GPUs are asked for by number: not by --ntasks-per-gpu alone, which means some as well.
bool wants_gpu(const ResourceRequest& need);

/// The request of a job in a partition. Memory not asked for is the partition's default, else the
/// cluster's, else none is set aside. Errors: kInvalidArgument with Slurm's text when no allocation
/// can meet all the devices asked for. Parses no text: the lists of `spec.request` count.
Result<ResourceRequest> resource_need(const JobSpec& spec, const PartitionConfig& partition,
                                      const ClusterSettings& settings);

}  // namespace muster

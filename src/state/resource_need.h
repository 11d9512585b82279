// From what a user wrote to what the planner compares: texts parsed, the partition's and cluster's
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
/// cluster's, else none is set aside. Errors: kInvalidArgument with Slurm's text for a malformed
/// feature, gres or node list.
Result<ResourceRequest> resource_need(const JobSpec& spec, const PartitionConfig& partition,
                                      const ClusterSettings& settings);

}  // namespace muster

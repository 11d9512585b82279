// The keys of a PartitionName record.
#pragma once

#include <span>

#include "slurm/conf/conf_key.h"
#include "slurm/conf/slurm_conf.h"

namespace muster {

/// Returns a partition before any key: `over_time_limit` follows the cluster.
PartitionConfig default_partition();

std::span<const ConfKey<PartitionConfig>> partition_conf_keys();

/// Fills `nodes` from `nodes_text` (a host list, ALL, or empty) and copies the cluster's memory
/// settings where the partition has none of the kind. Errors: kInvalidArgument: a node that is not
/// configured; DefMemPerCPU with DefMemPerNode.
Status resolve_partition(const ClusterConfig& cluster, PartitionConfig& partition);

}  // namespace muster

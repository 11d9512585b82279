// A shape in one of its partitions: the limits that apply, the nodes that count, and whether it can run there at all.
#pragma once

#include <optional>
#include <vector>

#include "model/reason.h"
#include "sched/placement/fit.h"
#include "sched/placement/select.h"
#include "sched/snapshot.h"

namespace muster::sched {

/// Node limits of request and partition together, or the reason for which there are none.
struct LimitsAnswer {
  PendingReason refusal = PendingReason::kNone;
  NodeLimits limits;
};
LimitsAnswer node_limits(const ResourceRequest& request, const PartitionConfig& partition);

/// Why the partition takes no job of this request and time limit now, whatever is free: its state or a limit.
PendingReason partition_refusal(const ClusterSnapshot& snapshot, const ResourceRequest& request,
                                Duration time_limit, PartitionIndex partition);

NodeRule node_rule(const ClusterSnapshot& snapshot, const ResourceRequest& request, PartitionIndex partition);

/// All nodes in the order in which windows are laid: weight, GPUs, CPUs, index, each rising, by what nodes have
/// when empty. It must not depend on what is free, else a window would wander off as jobs are backfilled.
std::vector<NodeIndex> static_order(const ClusterFacts& facts);

/// All nodes in the order in which jobs are placed now: weight, free GPUs, free CPUs, index, each rising. Jobs
/// land where they leave the least, and those that need no GPU stay away from free ones.
std::vector<NodeIndex> best_fit_order(const ClusterFacts& facts, const FreeTable& free);

}  // namespace muster::sched

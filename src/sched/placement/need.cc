// A need has its partition's nodes, rule and limits worked in, so that whoever asks about a job in
// a partition asks one object.

#include "sched/placement/need.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace muster::sched {
namespace {

/// Takes away the nodes that could not carry one task, with a share of each per-job need, even when
/// empty.
void restrict_to_capable(Need& need, const ClusterInventory& inventory) {
  const Fitter fitter = need.fitter(inventory);
  std::vector<bool> is_capable;
  for (const NodeIndex like : inventory.classes)
    is_capable.push_back(candidate_at(fitter, like, inventory.total.at(like)).has_value());
  NodeSet capable = need.demand.feasible_nodes;
  need.demand.feasible_nodes.for_each([&](NodeIndex node) {
    if (!is_capable[inventory.class_of[node.value()]]) capable.reset(node);
  });
  need.demand.feasible_nodes = std::move(capable);
}

}  // namespace

LimitsAnswer node_limits(const ResourceRequest& request, const PartitionConfig& partition) {
  constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();
  // 0 stands for UNLIMITED, of the request as of the partition.
  const std::uint32_t request_max = request.max_nodes == 0 ? kNoLimit : request.max_nodes;
  const std::uint32_t partition_max = partition.max_nodes == 0 ? kNoLimit : partition.max_nodes;
  NodeLimits limits;
  limits.min = std::max({request.min_nodes, partition.min_nodes, 1U});
  limits.max = std::min(request_max, partition_max);
  if (limits.max < limits.min) return {PendingReason::kPartitionNodeLimit, {}};
  return {PendingReason::kNone, limits};
}

NodeRule node_rule(const ClusterInventory& inventory, const ResourceRequest& request,
                   PartitionIndex partition) {
  const bool is_exclusive =
      request.is_exclusive || inventory.config.partitions[partition.value()].is_exclusive;
  return {is_exclusive, inventory.cpu_quota(partition)};
}

Need Need::compile(std::shared_ptr<const ResourceRequest> request, PartitionIndex partition,
                   const ClusterInventory& inventory) {
  Need need;
  need.partition = partition;
  need.demand = Demand::compile(std::move(request), inventory);
  // A configuration may have dropped the partition while jobs wait; they are kept and say so.
  if (partition.value() >= inventory.config.partitions.size()) {
    need.demand.feasible_nodes = NodeSet(inventory.node_count());
    need.refusal = PendingReason::kPartitionConfig;
    return need;
  }
  const PartitionConfig& config = inventory.config.partitions[partition.value()];
  need.rule = node_rule(inventory, need.request(), partition);
  need.max_time = config.max_time;
  const LimitsAnswer limits = node_limits(need.request(), config);
  need.limits = limits.limits;
  need.refusal = limits.refusal;
  if (config.state == PartitionState::kInactive) need.refusal = PendingReason::kPartitionInactive;
  if (config.state == PartitionState::kDown) need.refusal = PendingReason::kPartitionDown;
  if (need.demand.has_unknown_name) {
    need.demand.feasible_nodes = NodeSet(inventory.node_count());
  } else {
    need.demand.feasible_nodes &= inventory.partition_nodes[partition.value()];
    restrict_to_capable(need, inventory);
  }
  return need;
}

PendingReason Need::refusal_of(Duration time_limit) const {
  const bool is_closed =
      refusal != PendingReason::kNone && refusal != PendingReason::kPartitionNodeLimit;
  if (is_closed) return refusal;
  return time_limit > max_time ? PendingReason::kPartitionTimeLimit : refusal;
}

}  // namespace muster::sched

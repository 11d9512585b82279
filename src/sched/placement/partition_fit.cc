#include "sched/placement/partition_fit.h"

#include <algorithm>
#include <limits>

namespace muster::sched {
namespace {

std::vector<GresKindId> gpu_kinds(const ClusterFacts& facts) { return facts.matching_kinds("gpu", ""); }

/// Sort key of one node; the index is last, so that no two are equal.
struct OrderKey {
  std::uint64_t major = 0;  ///< weight and GPUs
  std::uint64_t minor = 0;  ///< CPUs and index
  friend auto operator<=>(const OrderKey&, const OrderKey&) = default;
};

std::uint64_t not_negative(std::int64_t value) { return static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0)); }

}  // namespace

LimitsAnswer node_limits(const ResourceRequest& request, const PartitionConfig& partition) {
  constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();
  const std::uint32_t request_max = request.max_nodes == 0 ? kNoLimit : request.max_nodes;
  const std::uint32_t partition_max = partition.max_nodes == 0 ? kNoLimit : partition.max_nodes;
  NodeLimits limits;
  limits.min = std::max({request.min_nodes, partition.min_nodes, 1U});
  limits.max = std::min(request_max, partition_max);
  if (limits.max < limits.min) return {PendingReason::kPartitionNodeLimit, {}};
  return {PendingReason::kNone, limits};
}

PendingReason partition_refusal(const ClusterSnapshot& snapshot, const ResourceRequest& request,
                                Duration time_limit, PartitionIndex index) {
  if (index.value() >= snapshot.config().partitions.size()) return PendingReason::kPartitionConfig;
  const PartitionConfig& partition = snapshot.partition(index);
  if (partition.state == PartitionState::kInactive) return PendingReason::kPartitionInactive;
  if (partition.state == PartitionState::kDown) return PendingReason::kPartitionDown;
  if (time_limit > partition.max_time) return PendingReason::kPartitionTimeLimit;
  return node_limits(request, partition).refusal;
}

NodeRule node_rule(const ClusterSnapshot& snapshot, const ResourceRequest& request, PartitionIndex index) {
  const PartitionConfig& partition = snapshot.partition(index);
  return {request.is_exclusive || partition.is_exclusive, partition.max_cpus_per_node,
          snapshot.partition_used_cpus(index)};
}

std::vector<NodeIndex> best_fit_order(const ClusterFacts& facts, const FreeTable& free) {
  const std::vector<GresKindId> gpus = gpu_kinds(facts);
  std::vector<OrderKey> keys;
  keys.reserve(facts.node_count());
  for (std::uint32_t i = 0; i < facts.node_count(); ++i) {
    const NodeFree node = free.at(NodeIndex(i));
    std::int64_t gpu_count = 0;
    for (const GresKindId kind : gpus) gpu_count += node.gres[kind.value()];
    keys.push_back({std::uint64_t{facts.nodes[i].weight} << 32U | not_negative(gpu_count),
                    not_negative(node.cpus) << 32U | i});
  }
  std::ranges::sort(keys);
  std::vector<NodeIndex> order;
  order.reserve(keys.size());
  for (const OrderKey& key : keys) order.push_back(NodeIndex(static_cast<std::uint32_t>(key.minor)));
  return order;
}

std::vector<NodeIndex> static_order(const ClusterFacts& facts) { return best_fit_order(facts, facts.total); }

}  // namespace muster::sched

// Limits and states of a partition, and the orders in which nodes are looked at. A key packs an
// order's four parts into two numbers, so that to compare two nodes is to compare those.

#include "sched/snapshot/partition_fit.h"

#include <algorithm>
#include <limits>

namespace muster::sched {
namespace {

std::uint64_t not_negative(std::int64_t value) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0));
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

PendingReason partition_refusal(const ClusterSnapshot& snapshot, const ResourceRequest& request,
                                Duration time_limit, PartitionIndex index) {
  // A configuration may have dropped it while the job waits; the job is kept and says so.
  if (index.value() >= snapshot.config().partitions.size()) return PendingReason::kPartitionConfig;
  const PartitionConfig& partition = snapshot.partition(index);
  if (partition.state == PartitionState::kInactive) return PendingReason::kPartitionInactive;
  if (partition.state == PartitionState::kDown) return PendingReason::kPartitionDown;
  if (time_limit > partition.max_time) return PendingReason::kPartitionTimeLimit;
  return node_limits(request, partition).refusal;
}

NodeRule node_rule(const ClusterInventory& inventory, const ResourceRequest& request,
                   PartitionIndex partition) {
  const bool is_exclusive =
      request.is_exclusive || inventory.config.partitions[partition.value()].is_exclusive;
  return {is_exclusive, inventory.cpu_quota(partition)};
}

BestFitOrder::BestFitOrder(const ClusterInventory& inventory, const FreeTable& free)
    : gpu_kinds_(inventory.matching_kinds("gpu", "")) {
  keys_.reserve(inventory.node_count());
  for (std::uint32_t i = 0; i < inventory.node_count(); ++i)
    keys_.push_back(key_of(inventory, free, NodeIndex(i)));
  std::ranges::sort(keys_);
  number();
}

BestFitOrder::Key BestFitOrder::key_of(const ClusterInventory& inventory, const FreeTable& free,
                                       NodeIndex node) const {
  const NodeFree row = free.at(node);
  std::int64_t gpu_count = 0;
  for (const GresKindId kind : gpu_kinds_) gpu_count += row.gres[kind.value()];
  // 32 bits each. An overdrawn node counts as one with nothing, as the parts must not borrow.
  return {std::uint64_t{inventory.nodes[node.value()].weight} << 32U | not_negative(gpu_count),
          not_negative(row.cpus) << 32U | node.value()};
}

void BestFitOrder::update(const ClusterInventory& inventory, const FreeTable& free,
                          std::span<const NodeIndex> changed) {
  if (changed.empty()) return;
  NodeSet is_changed(inventory.node_count());
  for (const NodeIndex node : changed) is_changed.set(node);
  // Taken out, sorted and merged back: most events change a few nodes of thousands.
  std::erase_if(keys_, [&](const Key& key) { return is_changed.test(key.node()); });
  const auto middle = static_cast<std::ptrdiff_t>(keys_.size());
  is_changed.for_each([&](NodeIndex node) { keys_.push_back(key_of(inventory, free, node)); });
  std::sort(keys_.begin() + middle, keys_.end());
  std::inplace_merge(keys_.begin(), keys_.begin() + middle, keys_.end());
  number();
}

void BestFitOrder::number() {
  nodes_.resize(keys_.size());
  places_.resize(keys_.size());
  for (std::uint32_t i = 0; i < keys_.size(); ++i) {
    nodes_[i] = keys_[i].node();
    places_[nodes_[i].value()] = i;
  }
}

std::vector<NodeIndex> BestFitOrder::sorted(const NodeSet& members) const {
  const std::uint32_t count = members.count();
  std::vector<NodeIndex> result;
  result.reserve(count);
  // For many members a walk over all nodes costs less than to sort them.
  if (count > nodes_.size() / 16) {
    for (const NodeIndex node : nodes_) {
      if (members.test(node)) result.push_back(node);
    }
    return result;
  }
  members.for_each([&](NodeIndex node) { result.push_back(node); });
  std::ranges::sort(result, {}, [this](NodeIndex node) { return place_of(node); });
  return result;
}

std::vector<NodeIndex> static_order(const ClusterInventory& inventory) {
  return BestFitOrder(inventory, inventory.total).nodes();
}

}  // namespace muster::sched

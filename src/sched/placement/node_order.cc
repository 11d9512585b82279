// A key packs an order's four parts into two numbers, so that to compare two nodes is to compare
// those.

#include "sched/placement/node_order.h"

#include <algorithm>

namespace muster::sched {
namespace {

std::uint64_t not_negative(std::int64_t value) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0));
}

}  // namespace

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

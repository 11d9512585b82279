// The orders in which nodes are looked at.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/placement/amounts.h"
#include "sched/placement/demand.h"
#include "sched/placement/node_set.h"

namespace muster::sched {

/// Returns all nodes in the order in which windows are laid: weight, GPUs, CPUs, index, each
/// rising, by what nodes have when empty. It must not depend on what is free, else a window would
/// wander off as jobs are backfilled.
std::vector<NodeIndex> static_order(const ClusterInventory& inventory);

/// Holds all nodes in the order in which jobs are placed now: weight, free GPUs, free CPUs, index,
/// each rising. Jobs land where they leave the least, and those that need no GPU stay away from
/// free ones.
class BestFitOrder {
 public:
  BestFitOrder() = default;
  /// Sorts all nodes. Cost: O(n log n).
  BestFitOrder(const ClusterInventory& inventory, const FreeTable& free);
  /// Brings the order up to date after `changed` nodes gained or lost room. Cost: O(n + c log c).
  void update(const ClusterInventory& inventory, const FreeTable& free,
              std::span<const NodeIndex> changed);

  const std::vector<NodeIndex>& nodes() const { return nodes_; }
  /// Returns the node's position in the order.
  std::uint32_t place_of(NodeIndex node) const { return places_[node.value()]; }
  /// Returns `members` in this order. Cost: O(n), or O(c log c) for few.
  std::vector<NodeIndex> sorted(const NodeSet& members) const;

 private:
  struct Key {
    std::uint64_t major = 0;  ///< weight and GPUs
    std::uint64_t minor = 0;  ///< CPUs and index; the index makes keys unlike
    friend auto operator<=>(const Key&, const Key&) = default;
    NodeIndex node() const { return NodeIndex(static_cast<std::uint32_t>(minor)); }
  };
  Key key_of(const ClusterInventory& inventory, const FreeTable& free, NodeIndex node) const;
  void number();

  std::vector<GresKindId> gpu_kinds_;
  std::vector<Key> keys_;  ///< sorted
  std::vector<NodeIndex> nodes_;
  std::vector<std::uint32_t> places_;
};

}  // namespace muster::sched

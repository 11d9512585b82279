// A request in one partition, compiled: what does not depend on what is free. Jobs that differ in
// time limit, priority or owner share it.
#pragma once

#include <cstdint>
#include <memory>

#include "base/time.h"
#include "model/ids.h"
#include "model/partition.h"
#include "model/reason.h"
#include "sched/placement/demand.h"
#include "sched/placement/fit.h"
#include "sched/placement/select.h"

namespace muster::sched {

/// The node limits of request and partition together, or the reason for which there are none.
struct LimitsAnswer {
  PendingReason refusal = PendingReason::kNone;
  NodeLimits limits;
};
LimitsAnswer node_limits(const ResourceRequest& request, const PartitionConfig& partition);

NodeRule node_rule(const ClusterInventory& inventory, const ResourceRequest& request,
                   PartitionIndex partition);

/// A need's index in the snapshot's table; indices are used again, serials never.
using NeedIndex = Id<struct NeedTag, std::uint32_t>;

struct Need {
  std::uint64_t serial =
      0;  ///< unlike that of every other need there ever was; 0: the entry is vacant
  PartitionIndex partition;
  /// `demand.feasible_nodes`: nodes of the partition that can carry at least one task when empty.
  Demand demand;
  NodeRule rule;
  NodeLimits
      limits;  ///< of request and partition together; any, where `refusal` says there are none
  /// Why the partition takes no such job now, whatever its time limit: the partition's state or its
  /// limits on nodes.
  PendingReason refusal = PendingReason::kNone;
  Duration max_time = Duration::infinite();  ///< of the partition
  std::uint32_t lane_count = 0;              ///< lanes that have it

  /// Requires of `partition`: it may be one that is no longer configured; then no node serves.
  static Need compile(std::shared_ptr<const ResourceRequest> request, PartitionIndex partition,
                      const ClusterInventory& inventory);

  const ResourceRequest& request() const { return *demand.request; }
  /// Returns the nodes of the partition that can carry at least one task when empty.
  const NodeSet& nodes() const { return demand.feasible_nodes; }
  /// Returns why the partition takes no job of this time limit now, whatever is free. kNone: it
  /// does.
  PendingReason refusal_of(Duration time_limit) const;
  /// Returns what answers how much of it fits on a node. Lifetime: within that of the need.
  Fitter fitter(const ClusterInventory& inventory) const { return {inventory, demand, rule}; }
};

}  // namespace muster::sched

// Answers whether a job could ever run. It is asked at submission, of the cluster as configured:
// what runs and which nodes are down does not matter.
#pragma once

#include <string>

#include "base/time.h"
#include "model/ids.h"
#include "model/reason.h"
#include "model/resource_request.h"
#include "sched/placement/demand.h"

namespace muster::sched {

/// The answer. `refusal` kNone: the job can run, and the texts are empty. kPartitionNodeLimit,
/// kPartitionTimeLimit: a limit of the partition stands in the way, which Slurm lets wait unless
/// EnforcePartLimits is set. kBadConstraints: no nodes of the partition will do. `message` is
/// Slurm's text for the refusal at submission; `detail` names the field that asks too much and what
/// the best node offers. `is_memory`: it is the memory that no node has.
struct Satisfiability {
  PendingReason refusal = PendingReason::kNone;
  std::string message;
  std::string detail;
  bool is_memory = false;
  bool is_satisfiable() const { return refusal == PendingReason::kNone; }
};

/// Answers for one request in one partition. Requires: partition is one of inventory.config's.
/// Cost: O(nodes). Pure. `inventory` comes from ClusterSnapshot::inventory() or
/// ClusterInventory::create(config).
Satisfiability check_satisfiable(const ClusterInventory& inventory, const ResourceRequest& request,
                                 PartitionIndex partition, Duration time_limit);

}  // namespace muster::sched

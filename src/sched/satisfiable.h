// Answers whether a job could ever run. It is asked at submission, of the cluster as configured:
// what runs and which nodes are down does not matter.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

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

/// Remembers what was answered of one configuration: jobs that come in by the thousand ask the same
/// few questions, of every node each time.
class SatisfiabilityMemo {
 public:
  /// Answers as check_satisfiable() does. `config_revision`: ClusterSnapshot::config_revision() of
  /// the inventory; another one makes it forget. Cost: O(size of the request) where it knows.
  Satisfiability check(const ClusterInventory& inventory, std::uint64_t config_revision,
                       const ResourceRequest& request, PartitionIndex partition,
                       Duration time_limit);
  /// Returns how many answers it knows.
  std::size_t size() const { return known_.size(); }

 private:
  struct Entry {
    ResourceRequest request;
    PartitionIndex partition;
    Satisfiability answer;  ///< of a job without a time limit
  };
  void forget();
  const Satisfiability& find_or_ask(const ClusterInventory& inventory,
                                    const ResourceRequest& request, PartitionIndex partition);

  /// What all requests it knows may hold together: each counts one, and one for each name in its
  /// lists, since one job may name every node of the cluster; a long name counts more.
  static constexpr std::size_t kHeldMax = 65'536;

  std::uint64_t config_revision_ = 0;
  std::size_t held_ = 0;
  std::unordered_multimap<std::uint64_t, Entry> known_;
};

}  // namespace muster::sched

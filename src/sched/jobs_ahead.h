// Who is reached before a job in the queue, on nodes that both could use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sched/priority/rank.h"
#include "sched/snapshot/snapshot.h"

namespace muster::sched {

struct JobsAhead {
  std::uint64_t count = 0;   ///< elements of arrays one by one, as many as may start
  std::vector<JobId> first;  ///< some of them, best first
};

/// Where a waiting job may come to lie on the nodes in service, and how early the planner reaches
/// it there: in the partition of the highest tier that has the node. References the snapshot, which
/// must outlive it.
class QueuePosition {
 public:
  /// Cost: O(partitions of the job).
  QueuePosition(const ClusterSnapshot& snapshot, const PendingJob& job);

  /// True when somebody of that rank is reached earlier on any of those nodes. Cost: O(nodes *
  /// partitions of the job), O(1) for who is reached later everywhere.
  bool is_behind(const QueueRank& other, const std::vector<NodeAmount>& nodes) const;

  /// Returns the jobs without a hold that are reached earlier where they and this one may come to
  /// lie; `first` has up to `names` of them. Cost: O((needs + lanes) * all nodes / 64 + jobs that
  /// are found).
  JobsAhead ahead(std::size_t names) const;

 private:
  const ClusterSnapshot& snapshot_;
  Rank rank_;
  std::vector<const Need*> needs_;  ///< of partitions that take it now, the highest tier first
};

}  // namespace muster::sched

// When running jobs are expected to end, node by node, in arrays that a walk reads from front to
// back: a search passes thousands of ends, and would otherwise wait for each job's memory.
#pragma once

#include <cstddef>
#include <vector>

#include "base/time.h"
#include "sched/placement/node_set.h"
#include "sched/snapshot/snapshot.h"

namespace muster::sched {

/// A job's end on one of its nodes.
struct NodeEnd {
  TimePoint end;
  NodeIndex node;
};

class EndTable {
 public:
  /// Takes up everything that runs. Cost: O(running jobs' nodes).
  void reset(const ClusterSnapshot& snapshot);
  /// Takes up what runs on these nodes now. Requires: on others nothing has changed. Cost:
  /// O(table).
  void update(const ClusterSnapshot& snapshot, const NodeSet& nodes);

  /// The number of ends. Jobs without an end are not among them.
  std::size_t size() const { return ends_.size(); }
  /// Ends rise.
  TimePoint end(std::size_t i) const { return ends_[i]; }
  NodeIndex node(std::size_t i) const { return nodes_[i]; }
  /// Returns how many ends are at `time` or before it.
  std::size_t count_until(TimePoint time) const;

 private:
  // Two arrays: most of a walk looks at nodes alone.
  std::vector<TimePoint> ends_;
  std::vector<NodeIndex> nodes_;
};

}  // namespace muster::sched

// A walk over the instants at which anything changes on some nodes: running jobs and planned starts
// end, windows begin and end.
#pragma once

#include <cstddef>
#include <vector>

#include "base/time.h"
#include "sched/placement/node_set.h"
#include "sched/timeline/end_walk.h"
#include "sched/timeline/timeline.h"

namespace muster::sched {

/// Stands after an instant, at first the given one, which is not before now. Lifetime: within that
/// of the timeline, which gets no start and no window meanwhile, and of `among`.
class Instants {
 public:
  Instants(Timeline& timeline, const NodeSet& among, TimePoint after);

  /// Returns the next instant, which may concern other nodes alone; never: there is none.
  TimePoint next() const;
  /// Passes all instants until `time`, and it.
  void go_to(TimePoint time);
  /// True when, at an instant that the last go_to() passed, something ended on one of the nodes.
  bool has_ended() const { return has_ended_; }
  /// Visits the nodes among those of the walk at which something began or ended since the last
  /// call, each once.
  template <class Visit>
  void visit_touched(Visit&& visit) {
    for (const NodeIndex node : touched_) {
      is_touched_.reset(node);
      visit(node);
    }
    touched_.clear();
  }

 private:
  void skip_planned();
  void pass_mark(const Timeline::WindowMark& mark);
  void touch(NodeIndex node, bool is_end);

  const Timeline& timeline_;
  const NodeSet& among_;
  EndWalk ends_;
  std::size_t next_planned_ = 0;
  std::size_t next_mark_ = 0;
  bool has_ended_ = false;
  NodeSet is_touched_;
  std::vector<NodeIndex> touched_;
};

}  // namespace muster::sched

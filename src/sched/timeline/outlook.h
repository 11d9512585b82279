// How much of each need the cluster will be able to carry: what the search for an earliest start
// knows before it begins, kept from one pass to the next.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sched/placement/fit.h"
#include "sched/placement/node_set.h"
#include "sched/placement/select.h"
#include "sched/plan/plan.h"
#include "sched/snapshot/snapshot.h"
#include "sched/timeline/end_table.h"
#include "sched/timeline/free_rows.h"
#include "sched/timeline/sums.h"

namespace muster::sched {

/// The job of a search and where it may run. Holds references.
struct Wanted {
  const Fitter& fitter;
  NodeLimits limits;
  const NodeSet& allowed;
};

/// True when sums suffice for the job, as far as sums can say.
bool is_enough(const CarrySums& sums, const Wanted& wanted);

/// One need, on the nodes that it may have now. `carried` is by these at `time` when nothing but
/// the running jobs is in the way, and does not suffice: the job starts later.
struct Outlook {
  std::uint64_t serial = 0;  ///< the need's; 0: the entry is vacant
  NodeSet allowed;
  CapacityTable capacities;
  TimePoint time;
  Carried carried;
  bool is_asked = false;  ///< since the last forget_unasked()

  /// Returns what the node carries with `row`: nothing, where the need may not have it.
  Capacity capacity(RowId row, NodeIndex node, const RowTable& rows, const Fitter& fitter) {
    return allowed.test(node) ? capacities.of(row, node, rows, fitter) : Capacity{};
  }
};

/// The outlooks of the needs that were asked for, and the profiles of nodes by their running jobs
/// alone. Requires: one configuration; a change of it needs a new object.
class Outlooks {
 public:
  Outlooks() : Outlooks(0, 0) {}
  Outlooks(std::size_t node_count, std::size_t kind_count);

  /// Takes up a new state of the cluster at `now`. `changed`: the nodes whose running jobs or
  /// usability changed since the last time; null: that is not known, and everything is made anew.
  /// Cost: O(changed * outlooks).
  void begin_pass(const ClusterSnapshot& snapshot, TimePoint now, const PlanOptions& options,
                  const std::vector<NodeIndex>* changed);
  /// Returns the need's outlook with its time as late as it can be. Lifetime: until the next
  /// begin_pass() or forget_unasked(). Cost: O(ends between the last time and this); the first time
  /// O(nodes + ends).
  Outlook& of(NeedIndex need, std::uint64_t serial, const Wanted& wanted);
  /// Drops the outlooks that nobody has asked for since the last call.
  void forget_unasked();

  /// Returns the node's profile by its running jobs. Lifetime: until the next begin_pass().
  Profile profile(NodeIndex node);
  RowTable& rows() { return *rows_; }
  /// Returns when running jobs are expected to end. Lifetime: until the next begin_pass().
  const EndTable& ends();

 private:
  void reset();
  void make_profile(NodeIndex node);
  std::vector<NodeIndex> with_overdue() const;
  void change(const std::vector<NodeIndex>& nodes);
  void begin(Outlook& outlook, std::uint64_t serial, const Wanted& wanted);
  void go_back(Outlook& outlook, const Wanted& wanted);
  void go_on(Outlook& outlook, const Wanted& wanted);
  /// Counts what an instant changes on the nodes of the jobs that end then.
  template <class Walk>
  void count_instant(Outlook& outlook, const Fitter& fitter, TimePoint instant, int sign,
                     Walk&& walk);

  std::size_t kind_count_ = 0;
  std::unique_ptr<RowTable> rows_;
  ProfileBuilder builder_;
  std::vector<std::vector<ProfileStep>> profiles_;  ///< by node; empty: not made yet
  std::vector<Outlook> outlooks_;                   ///< by need
  std::vector<NodeIndex> overdue_;  ///< nodes of jobs that were overdue in the last pass
  EndTable ends_;
  bool are_ends_known_ = false;
  NodeSet ends_changed_;  ///< nodes whose ends in the table may be others
  NodeSet touched_;       ///< empty between calls
  std::vector<NodeIndex> touched_nodes_;

  // Of this pass.
  const ClusterSnapshot* snapshot_ = nullptr;
  TimePoint now_;
  PlanOptions options_;
};

}  // namespace muster::sched

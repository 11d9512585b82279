// One planning pass. It works through the queue in order, with a timeline of what is left, and
// remembers for each lane how far it got.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "sched/placement/node_order.h"
#include "sched/plan/plan.h"
#include "sched/timeline/timeline.h"

namespace muster::sched {

/// A set of nodes that several may look at and none changes.
using SharedNodes = std::shared_ptr<const NodeSet>;

/// What a planner remembers from one pass to the next. Sets of nodes are as large as the cluster: a
/// pass after one event is quick because it copies none that is as it was.
struct PassMemo {
  /// Of a need.
  struct Screened {
    std::uint64_t serial = 0;  ///< the need's
    bool is_possible = false;  ///< with every node in service
    /// The memo's number when `allowed` and `is_available` were worked out.
    std::uint64_t usable_number = 0;
    bool is_available = false;        ///< with the nodes in service
    SharedNodes allowed;              ///< of its nodes, those in service
    std::uint64_t room_revision = 0;  ///< the snapshot's when `room` was right; 0: never
    NodeSet room;      ///< nodes that could carry a task of it, windows and conditions aside
    SharedNodes open;  ///< `room` in service; null: not worked out since one of the two changed
    std::uint32_t open_count = 0;
  };
  std::uint64_t config_revision = 0;
  std::vector<NodeIndex> static_order;
  std::vector<Screened> screened;   ///< by need
  NodeSet usable;                   ///< the nodes in service
  std::uint64_t usable_number = 0;  ///< rises with each change of `usable`; 0: not known yet
  std::uint64_t revision = 0;       ///< of the last pass
  BestFitOrder order;
  Outlooks outlooks;
};

/// A lane in the partitions of one tier. Its jobs fail alike: once one does not start, none behind
/// it is tried in this pass.
class Strand {
 public:
  struct Part {
    NeedIndex index;
    const Need* need = nullptr;
    PassMemo::Screened* known = nullptr;  ///< of this need
    SharedNodes allowed;
    Fitter fitter;
    SharedNodes room = {};  ///< of `allowed`, what could carry a task when the pass began
    std::uint32_t room_count = 0;
    /// The nodes of `room` that may still accept a task; none: not looked at yet.
    std::optional<NodeSet> live = {};
    /// A node of `allowed` that was not claimed when it was last looked at.
    std::optional<NodeIndex> unclaimed = {};
    /// The nodes of `live` in the order of best fit, when is_sorted, with some dead between.
    std::vector<NodeIndex> order = {};
    std::size_t dead_count = 0;
    bool is_sorted = false;
  };
  LaneIndex index;
  const Lane* lane = nullptr;
  std::uint32_t tier = 0;
  std::vector<Part> parts;
  std::set<Rank>::const_iterator first;  ///< no job before it is left to start in this pass
  std::set<Rank>::const_iterator next;
  bool is_blocked = false;
};

/// A pass runs once. It holds references: snapshot, memo and kept windows (Planner::plan) outlive
/// it.
class Pass {
 public:
  Pass(const ClusterSnapshot& snapshot, TimePoint now, const PlanOptions& options, PassMemo& memo,
       std::span<const Window> kept);
  Plan run();

 private:
  struct Progress {
    std::uint32_t started = 0;
    bool has_window = false;
  };

  void refresh_order();
  void screen();
  PendingReason refusal(NeedIndex index);
  bool can_run(const Need& need, const NodeSet& allowed) const;
  void enter_lane(LaneIndex index);
  void enter_strand(LaneIndex index, NeedIndex need);
  void find_room(Strand::Part& part);
  std::optional<std::vector<NodeAmount>> place_now(const Strand& strand, Strand::Part& part);
  void run_queue();
  bool skip_to_startable(Strand& strand) const;
  bool begin_again(Strand& strand) const;
  QueueRank rank_of(const Strand& strand) const { return {strand.tier, *strand.next}; }
  /// A strand's position in the queue, as it was when it entered: a strand moves on only in its
  /// turn.
  struct QueuePosition {
    QueueRank rank;
    Duration time_limit;
    std::uint32_t strand = 0;
  };
  bool goes_later(const QueuePosition& a, const QueuePosition& b) const;
  void push(std::uint32_t strand);
  std::uint32_t pop();
  void turn(std::uint32_t strand);
  bool try_start(Strand& strand);
  bool has_window(JobId job) const;
  bool is_known_to_fail(const Strand& strand, const Strand::Part& part) const;
  void remember_failure(const Strand& strand, const Strand::Part& part);
  void commit(const Strand& strand, const Strand::Part& part, std::vector<NodeAmount> nodes);
  bool may_reserve(Strand& strand) const;
  bool try_start_beside_own_windows(Strand& strand);
  /// What a strand's next job is given.
  struct Promise {
    const Strand::Part* part = nullptr;
    FuturePlacement placement;
  };
  bool reserve(const Strand& strand);
  bool may_search(const Strand& strand) const;
  std::optional<Promise> kept_promise(const Strand& strand) const;
  std::optional<Promise> earliest_promise(const Strand& strand);
  bool does_stand(const Window& window, const Strand& strand, const Strand::Part& part) const;
  NodeSet nodes_of(const Strand& strand) const;
  void claim(const NodeSet& nodes);
  void restart_queue();
  void finish();

  const ClusterSnapshot& snapshot_;
  TimePoint now_;
  PlanOptions options_;
  PassMemo& memo_;
  Timeline timeline_;
  std::vector<NodeIndex> changed_;  ///< nodes changed since the memo's last pass
  bool is_change_known_ = false;
  std::vector<PendingReason> refusals_;  ///< by need; kNone: only room may be missing
  /// By need: the shortest time limit of a job that did not start in this round. Room only shrinks,
  /// and longer ones meet more windows.
  std::vector<std::optional<Duration>> failed_from_;
  std::vector<Strand> strands_;
  std::vector<QueuePosition> heap_;
  bool is_tail_ = false;                          ///< the first job has been blocked
  bool must_restart_ = false;                     ///< a job with a window started elsewhere
  std::unordered_map<JobId, Progress> progress_;  // looked up only
  NodeSet claimed_;                               ///< nodes with as many claims as the depth allows
  NodeSet claimed_once_;  ///< nodes with any: the depth when searches have taken too long
  std::vector<std::uint32_t> claims_;
  std::vector<const Window*> kept_;  ///< rising by job
  Plan plan_;
};

}  // namespace muster::sched

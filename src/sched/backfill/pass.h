// One planning pass: the queue in order, a timeline of what is left, and for each shape how far it
// got.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "sched/backfill/window_memo.h"
#include "sched/placement/partition_fit.h"
#include "sched/plan.h"
#include "sched/timeline/timeline.h"

namespace muster::sched {

/// What a planner remembers from one pass to the next.
struct PassMemo {
  struct Screened {
    std::uint64_t config_revision = 0;
    bool is_possible = false;         ///< with every node in service
    NodeSet usable;                   ///< the nodes in service when `is_available` was worked out
    bool is_available = false;        ///< with these
    std::uint64_t room_revision = 0;  ///< the snapshot's when `room` was right; 0: never
    NodeSet room;  ///< nodes that could take a task of it, windows and conditions aside
    WindowMemo window;
  };
  std::uint64_t config_revision = 0;
  std::vector<NodeIndex> static_order;
  std::map<std::pair<std::uint64_t, PartitionIndex>, Screened> screened;  ///< by shape serial
  std::uint64_t revision = 0;                                             ///< of the last pass
  BestFitOrder order;
  /// Whose searches for an earliest start were made or answered in the last pass: what others remember of theirs is dropped.
  std::set<std::pair<std::uint64_t, PartitionIndex>> searched;
};

/// A shape in the partitions of one tier. Jobs of one shape fail alike: once one does not start,
/// none behind it is tried in this pass.
class Lane {
 public:
  struct Part {
    PartitionIndex partition;
    NodeSet allowed;
    NodeLimits limits;
    Fitter fitter;
    NodeSet room;  ///< of `allowed`, what could take a task when the pass began
    NodeSet live;  ///< of `room`, what is not yet known to take no more
    std::vector<NodeIndex>
        order;  ///< `live` in the order of best fit, when is_sorted, with some dead between
    std::size_t dead_count = 0;
    bool is_sorted = false;
  };
  ShapeIndex shape;
  const Shape* shape_ref = nullptr;
  std::uint32_t tier = 0;
  std::vector<Part> parts;
  std::set<Rank>::const_iterator first;  ///< no job before it is left to start in this pass
  std::set<Rank>::const_iterator next;
  bool is_blocked = false;
};

/// Runs once. Holds references: snapshot and memo outlive it.
class Pass {
 public:
  Pass(const ClusterSnapshot& snapshot, TimePoint now, const PlanOptions& options, PassMemo& memo);
  Plan run();

 private:
  struct Progress {
    std::uint32_t started = 0;
    bool has_window = false;
  };

  void refresh_order();
  void screen();
  PendingReason refusal(const Shape& shape, PartitionIndex partition, const NodeSet& allowed);
  bool can_run(const Shape& shape, PartitionIndex partition, const NodeSet& allowed) const;
  void enter_lane(ShapeIndex index, PartitionIndex partition, NodeSet allowed);
  NodeSet room_of(const Lane::Part& part, std::uint64_t serial);
  std::optional<std::vector<NodeAmount>> place_now(const Lane& lane, Lane::Part& part);
  void run_queue();
  bool skip_to_startable(Lane& lane) const;
  bool begin_again(Lane& lane) const;
  QueueRank rank_of(const Lane& lane) const { return {lane.tier, *lane.next}; }
  bool goes_later(std::uint32_t a, std::uint32_t b) const;
  void push(std::uint32_t lane);
  std::uint32_t pop();
  void turn(std::uint32_t lane);
  bool try_start(Lane& lane);
  void commit(const Lane& lane, const Lane::Part& part, std::vector<NodeAmount> nodes);
  bool may_reserve(const Lane& lane) const;
  std::optional<FuturePlacement> earliest_start(const Lane& lane, const Lane::Part& part);
  bool try_start_beside_own_windows(Lane& lane);
  void reserve(const Lane& lane);
  NodeSet nodes_of(const Lane& lane) const;
  void claim(const NodeSet& nodes);
  void restart_queue();
  void finish();
  void prune_memo();
  void forget_searches();

  const ClusterSnapshot& snapshot_;
  TimePoint now_;
  PlanOptions options_;
  PassMemo& memo_;
  Timeline timeline_;
  std::vector<NodeIndex> changed_;  ///< nodes changed since the memo's last pass
  bool is_change_known_ = false;
  NodeSet started_on_;  ///< nodes of this pass's starts
  std::vector<Lane> lanes_;
  std::vector<std::uint32_t> heap_;
  bool is_tail_ = false;                          ///< the first job has been blocked
  bool must_restart_ = false;                     ///< a job with a window started elsewhere
  std::unordered_map<JobId, Progress> progress_;  // looked up only
  NodeSet claimed_;                               ///< nodes with as many claims as the depth allows
  std::vector<std::uint32_t> claims_;
  std::set<std::pair<std::uint64_t, PartitionIndex>> searched_;  ///< in this pass
  Plan plan_;
};

}  // namespace muster::sched

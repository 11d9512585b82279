// One planning pass. It works through the queue in order, with a timeline of what is left, and
// remembers for each shape how far it got.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "sched/backfill/window_memo.h"
#include "sched/plan/plan.h"
#include "sched/snapshot/partition_fit.h"
#include "sched/timeline/timeline.h"

namespace muster::sched {

/// A set of nodes that several may look at and none changes.
using SharedNodes = std::shared_ptr<const NodeSet>;

/// A shape, by its serial, in one of its partitions.
struct ShapeKey {
  std::uint64_t serial = 0;
  PartitionIndex partition;
  friend constexpr auto operator<=>(const ShapeKey&, const ShapeKey&) = default;
  struct Hash {
    std::size_t operator()(const ShapeKey& key) const {
      return std::hash<std::uint64_t>{}(key.serial * 1024 + key.partition.value());
    }
  };
};

/// What a planner remembers from one pass to the next. Sets of nodes are as large as the cluster: a
/// pass after one event is quick because it copies none that is as it was.
struct PassMemo {
  struct Screened {
    std::uint64_t config_revision = 0;
    bool is_possible = false;  ///< with every node in service
    /// The memo's number when `allowed` and `is_available` were worked out.
    std::uint64_t usable_number = 0;
    bool is_available = false;        ///< with the nodes in service
    SharedNodes allowed;              ///< of its nodes, those in service
    std::uint64_t room_revision = 0;  ///< the snapshot's when `room` was right; 0: never
    NodeSet room;      ///< nodes that could carry a task of it, windows and conditions aside
    SharedNodes open;  ///< `room` in service; null: not worked out since one of the two changed
    std::uint32_t open_count = 0;
    WindowMemo window;
  };
  std::uint64_t config_revision = 0;
  std::vector<NodeIndex> static_order;
  std::unordered_map<ShapeKey, Screened, ShapeKey::Hash> screened;  ///< looked up only
  NodeSet usable;                                                   ///< the nodes in service
  std::uint64_t usable_number = 0;  ///< rises with each change of `usable`; 0: not known yet
  std::uint64_t revision = 0;       ///< of the last pass
  BestFitOrder order;
  /// The shapes whose searches for an earliest start were made or answered in the last pass: what
  /// others remember of theirs is dropped.
  std::set<ShapeKey> searched;
};

/// A shape in the partitions of one tier. Jobs of one shape fail alike: once one does not start,
/// none behind it is tried in this pass.
class Lane {
 public:
  struct Part {
    PartitionIndex partition;
    PassMemo::Screened* known = nullptr;  ///< of this shape and partition
    SharedNodes allowed;
    NodeLimits limits;
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
  ShapeIndex shape;
  const Shape* shape_ref = nullptr;
  std::uint32_t tier = 0;
  std::vector<Part> parts;
  std::set<Rank>::const_iterator first;  ///< no job before it is left to start in this pass
  std::set<Rank>::const_iterator next;
  bool is_blocked = false;
};

/// A pass runs once. It holds references: snapshot and memo outlive it.
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
  PendingReason refusal(const Shape& shape, PartitionIndex partition);
  NodeSet members_of(const Shape& shape, PartitionIndex partition) const;
  bool can_run(const Shape& shape, PartitionIndex partition, const NodeSet& allowed) const;
  void enter_lane(ShapeIndex index, PartitionIndex partition);
  void find_room(Lane::Part& part);
  std::optional<std::vector<NodeAmount>> place_now(const Lane& lane, Lane::Part& part);
  void run_queue();
  bool skip_to_startable(Lane& lane) const;
  bool begin_again(Lane& lane) const;
  QueueRank rank_of(const Lane& lane) const { return {lane.tier, *lane.next}; }
  /// A lane's position in the queue, as it was when it entered: a lane moves on only in its turn.
  struct QueuePosition {
    QueueRank rank;
    Duration time_limit;
    std::uint32_t lane = 0;
  };
  bool goes_later(const QueuePosition& a, const QueuePosition& b) const;
  void push(std::uint32_t lane);
  std::uint32_t pop();
  void turn(std::uint32_t lane);
  bool try_start(Lane& lane);
  void commit(const Lane& lane, const Lane::Part& part, std::vector<NodeAmount> nodes);
  bool may_reserve(Lane& lane) const;
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
  std::vector<QueuePosition> heap_;
  bool is_tail_ = false;                          ///< the first job has been blocked
  bool must_restart_ = false;                     ///< a job with a window started elsewhere
  std::unordered_map<JobId, Progress> progress_;  // looked up only
  NodeSet claimed_;                               ///< nodes with as many claims as the depth allows
  std::vector<std::uint32_t> claims_;
  std::set<ShapeKey> searched_;  ///< in this pass
  Plan plan_;
};

}  // namespace muster::sched

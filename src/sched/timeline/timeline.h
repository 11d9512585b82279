// Free resources from now on: what running jobs give back when they are expected to end, what
// planned starts use and give back, and what windows reserve. The timeline answers what is free on
// a node over an interval, and when a job fits at the earliest.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"
#include "sched/placement/fit.h"
#include "sched/placement/select.h"
#include "sched/plan/plan.h"
#include "sched/snapshot/snapshot.h"
#include "sched/timeline/search_memory.h"

namespace muster::sched {

/// A placement in the future.
struct FuturePlacement {
  TimePoint start;
  std::vector<NodeAmount> nodes;
};

/// The question of a search: the job, and where it may run. Holds references. Shape: `order` as for
/// place(); `room` holds all of `allowed` that could carry a task now.
struct StartQuestion {
  const Fitter& fitter;
  NodeLimits limits;
  std::span<const NodeIndex> order;
  const NodeSet& allowed;
  const NodeSet& room;
  Duration duration;
};

/// What a window reserves on one node, from `start` until `end`.
struct ReservedRoom {
  TimePoint start;
  TimePoint end;
  NodeAmount amount;
  friend bool operator==(const ReservedRoom&, const ReservedRoom&) = default;
};

class Timeline {
 public:
  /// Begins with the snapshot's running jobs. Lifetime: the snapshot outlives the timeline and does
  /// not change meanwhile. Cost: O(nodes).
  Timeline(const ClusterSnapshot& snapshot, TimePoint now, const PlanOptions& options);

  /// Allocates the start's nodes from now to its end. Requires: free over that interval (CHECK).
  void start(const Start& start);
  /// Reserves the window's nodes. Requires: free over that interval (CHECK), window.start > now.
  void reserve(const Window& window);
  /// Reserves a window that was free when it was planned and may no longer be: where something is
  /// missing, less than nothing is left over. A window that should have begun begins at once.
  void reserve_again(const Window& window);
  /// Gives up one window. Requires: it was reserved, and not given up since (CHECK).
  void release(const Window& window);
  /// Gives up all windows; planned starts stay.
  void clear_windows();

  /// Returns what the windows reserve on these nodes, in the order in which they were reserved.
  /// Cost: O(windows' nodes).
  std::vector<ReservedRoom> reserved_on(const NodeSet& nodes) const;

  /// Returns what is free now, windows aside.
  const FreeTable& free() const { return free_; }
  TimePoint now() const { return now_; }

  /// False when this pass has spent what it may on placements of tasks and devices at once
  /// (Seeking::cost): the jobs whose turn comes later are placed only where it is easy, and looked
  /// at again in the next pass.
  bool is_effort_left() const { return spent_ < kEffort; }
  void spend(std::uint64_t cost) { spent_ += cost; }
  std::uint64_t spent() const { return spent_; }

  /// What stays free from now until `until`. Lifetime: it ends with the timeline; a view of `at` is
  /// valid until the next `at`.
  class Interval final : public Availability {
   public:
    Interval(const Timeline& timeline, TimePoint until) : timeline_(timeline), until_(until) {}
    NodeFree at(NodeIndex node) const override;

   private:
    const Timeline& timeline_;
    TimePoint until_;
    mutable std::vector<std::int32_t> gres_;
  };

  /// Returns the earliest time after now at which the job fits for its duration without touching a
  /// window, and where. Nullopt: never, by what is expected to end. Cost: O(ends + nodes), each end
  /// costing the nodes that it frees among `allowed`; with a memory, O(nodes + the ends after its
  /// checkpoint). Determinism: the smallest such time, with a memory or without; the first nodes of
  /// `order`. `memory`, where given: of a search for the same job, nodes and windows, on a snapshot
  /// that differs from this timeline's on no more than `changed` in what is allowed. Requires of
  /// both: nothing overdue.
  std::optional<FuturePlacement> earliest_start(const StartQuestion& question,
                                                SearchMemory* memory = nullptr);

 private:
  friend class EarliestStartSearch;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  /// One window on one node, with what is left over on that node when the window begins. Between
  /// windows a node's free amounts only rise, so the least over an interval is reached at its start
  /// or at a window's.
  struct Slot {
    TimePoint start;
    TimePoint end;
    NodeAmount amount;
    FreeRow spare;
    std::uint32_t next = kNone;  // the node's next slot
    bool is_released = false;    // and in no node's list
  };
  struct Planned {
    TimePoint end;
    NodeAmount amount;
  };
  struct Boundary {
    TimePoint time;
    std::uint32_t slot = 0;
    bool is_start = false;
    friend auto operator<=>(const Boundary&, const Boundary&) = default;
  };

  void free_overdue();
  TimePoint effective_end(TimePoint end) const;
  FreeRow row_at(NodeIndex node, TimePoint when) const;
  FreeRow row_without_windows(NodeIndex node, TimePoint when) const;
  TimePoint last_change(NodeIndex node, TimePoint until) const;
  /// Adds a slot. `spare`: what the node has at the slot's beginning without it.
  void add_slot(const NodeAmount& amount, TimePoint start, TimePoint end, FreeRow spare);
  void sort_planned();

  static constexpr std::uint64_t kEffort = 4'000'000;

  const ClusterSnapshot& snapshot_;
  TimePoint now_;
  PlanOptions options_;
  std::uint64_t spent_ = 0;
  FreeTable free_;
  std::vector<Planned> planned_;  ///< in the order of decision
  std::vector<std::uint32_t>
      planned_by_end_;  ///< indices; the first planned_sorted_ by (end, index)
  std::size_t planned_sorted_ = 0;
  std::vector<std::vector<std::uint32_t>> planned_on_;  ///< per node
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> first_slot_;  ///< per node
};

}  // namespace muster::sched

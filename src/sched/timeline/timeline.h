// Free resources from now on: what running jobs give back when they are expected to end, what
// planned starts use and give back, and what windows reserve. The timeline answers what is free on
// a node over an interval, and when a job fits at the earliest.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"
#include "sched/placement/fit.h"
#include "sched/placement/select.h"
#include "sched/plan/plan.h"
#include "sched/snapshot/snapshot.h"
#include "sched/timeline/free_rows.h"
#include "sched/timeline/outlook.h"

namespace muster::sched {

/// A placement in the future.
struct FuturePlacement {
  TimePoint start;
  std::vector<NodeAmount> nodes;
};

/// The question of a search: the job, and where it may run. Holds references. Shape: `order` as for
/// place().
struct StartQuestion {
  const Fitter& fitter;
  NodeLimits limits;
  std::span<const NodeIndex> order;
  const NodeSet& allowed;
  Duration duration;
  /// The need in the snapshot's table, by which what is known of it is found again.
  NeedIndex need;
  std::uint64_t serial = 0;
};

class Timeline {
 public:
  /// Begins with the snapshot's running jobs. Lifetime: the snapshot outlives the timeline and does
  /// not change meanwhile. Cost: O(nodes). `outlooks`: of this snapshot and instant, for
  /// earliest_start(); null: the timeline makes its own when it is asked.
  Timeline(const ClusterSnapshot& snapshot, TimePoint now, const PlanOptions& options,
           Outlooks* outlooks = nullptr);

  /// Allocates the start's nodes from now to its end. Requires: free over that interval (CHECK).
  void start(const Start& start);
  /// Reserves the window's nodes. Requires: free over that interval (CHECK), window.start > now.
  void reserve(const Window& window);
  /// True when the window's room is free over its interval. Requires: window.start > now.
  bool has_room_for(const Window& window) const;
  /// Reserves a window that was free when it was planned and may no longer be: where something is
  /// missing, less than nothing is left over. A window that should have begun begins at once.
  void reserve_again(const Window& window);
  /// Gives up one window. Requires: it was reserved, and not given up since (CHECK).
  void release(const Window& window);
  /// Gives up all windows; planned starts stay.
  void clear_windows();

  /// Returns what is free now, windows aside.
  const FreeTable& free() const { return free_; }
  TimePoint now() const { return now_; }

  /// False when this pass has spent what it may on placements of tasks and devices at once
  /// (Seeking::cost): the jobs whose turn comes later are placed only where it is easy, and looked
  /// at again in the next pass.
  bool is_effort_left() const { return spent_ < kEffort; }
  void spend(std::uint64_t cost) { spent_ += cost; }
  std::uint64_t spent() const { return spent_; }
  /// False when searches have taken so many steps, of nodes and of what changes there, that windows
  /// beyond those of EASY are for another pass: wide windows on nodes with many jobs cost the
  /// product of both.
  bool is_search_left() const { return steps_taken_ < steps_max_; }
  /// For a pass after one event, which is to be quick: a search of all windows follows in time.
  void expect_few_searches() { steps_max_ = kSearchSteps / 12; }

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
  /// window, and where. Nullopt: never, by what is expected to end. Determinism: the smallest such
  /// time; the first nodes of `order`. Cost: O(ends between the need's outlook and the answer +
  /// nodes that have a window later than the job's end would be, each with what changes there).
  std::optional<FuturePlacement> earliest_start(const StartQuestion& question);

 private:
  friend class EarliestStartSearch;
  friend class Instants;
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
  /// When a window begins or ends, with its slots, which lie side by side.
  struct WindowMark {
    TimePoint when;
    std::uint32_t first_slot = 0;
    std::uint32_t slot_count = 0;
    bool is_end = false;
  };
  /// A node's profile in this pass, among steps_; no steps: that by its running jobs alone. Of a
  /// node with windows, what it has from instant to instant, among exact_; others' profiles say
  /// that.
  struct Version {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t first_exact = 0;
    std::uint32_t exact_count = 0;
  };
  /// A node whose profile became another one.
  struct Revision {
    NodeIndex node;
    Version before;
    Version after;
  };
  /// What a node has at an instant, and from then on for ever.
  struct RowsAhead {
    RowId at_once;
    RowId lasting;
  };
  /// Of a need: no job of it can start before `time`, however short it is.
  struct Frontier {
    std::uint64_t serial = 0;
    TimePoint time;
    CarrySums at_once;     ///< what the nodes carry at `time`
    Carried lasting;       ///< what they carry from `time` on for ever
    std::size_t read = 0;  ///< how many revisions are in it

    /// Counts a node that had some rows and now has others. `capacity_of`: of a row on the node.
    void count(NodeIndex node, RowsAhead had, RowsAhead has, bool is_required, auto capacity_of) {
      if (had.at_once != has.at_once) {
        at_once.count(capacity_of(had.at_once), is_required, -1);
        at_once.count(capacity_of(has.at_once), is_required, 1);
      }
      if (had.lasting != has.lasting)
        lasting.replace(node, capacity_of(had.lasting), capacity_of(has.lasting), is_required);
    }
  };

  void free_overdue();
  TimePoint effective_end(TimePoint end) const;
  FreeRow row_at(NodeIndex node, TimePoint when) const;
  /// Sets `row` to what row_at() returns.
  void fill_row_at(FreeRow& row, NodeIndex node, TimePoint when) const;
  void mark_stale(NodeIndex node) { stale_.set(node); }
  Outlooks& outlooks();
  void refresh_profiles(const NodeSet& nodes);
  Version make_version(NodeIndex node);
  Profile profile(NodeIndex node, Version version);
  Profile profile(NodeIndex node) {
    return profile(node, versions_.empty() ? Version{} : versions_[node.value()]);
  }
  /// Returns what is free from instant to instant; nothing where the node has no windows.
  std::span<const ExactStep> exact_steps(Version version) const {
    return std::span(exact_).subspan(version.first_exact, version.exact_count);
  }
  RowsAhead rows_at(NodeIndex node, Version version, TimePoint when);
  RowsAhead rows_before(NodeIndex node, Version version, TimePoint when);
  /// Returns the need's frontier as far on as it can be. Lifetime: until the next call.
  const Frontier& frontier(const StartQuestion& question, Outlook& outlook);
  void make_sums(Frontier& frontier, const StartQuestion& question, Outlook& outlook);
  void catch_up(Frontier& frontier, const StartQuestion& question, Outlook& outlook);
  void go_on(Frontier& frontier, const StartQuestion& question, Outlook& outlook);
  /// Adds a slot. `spare`: what the node has at the slot's beginning without it.
  void add_slot(const NodeAmount& amount, TimePoint start, TimePoint end, FreeRow spare);
  void add_window_marks(TimePoint start, TimePoint end, std::size_t slot_count);
  void sort_planned_ends();

  static constexpr std::uint64_t kEffort = 4'000'000;
  static constexpr std::uint64_t kSearchSteps = 12'000'000;

  const ClusterSnapshot& snapshot_;
  TimePoint now_;
  PlanOptions options_;
  std::uint64_t spent_ = 0;
  std::uint64_t steps_taken_ = 0;
  std::uint64_t steps_max_ = kSearchSteps;
  FreeTable free_;
  std::vector<Planned> planned_;       ///< in the order of decision
  std::vector<NodeEnd> planned_ends_;  ///< of planned_; the first planned_sorted_ rise
  std::size_t planned_sorted_ = 0;
  std::vector<std::vector<std::uint32_t>> planned_on_;  ///< per node
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> first_slot_;  ///< per node
  std::vector<TimePoint> last_slot_;  ///< per node: when its last slot begins; unset: it has none
  std::vector<WindowMark> window_marks_;  ///< rising by time
  NodeSet windowed_;                      ///< nodes with slots

  Outlooks* outlooks_;
  std::unique_ptr<Outlooks> own_outlooks_;
  NodeSet stale_;  ///< nodes whose profile is not that of their starts and windows
  std::vector<ProfileStep> steps_;
  std::vector<ExactStep> exact_;
  std::vector<Version> versions_;  ///< per node; empty: no node has any of this pass
  std::vector<Revision> revisions_;
  std::vector<Frontier> frontiers_;  ///< per need
  ProfileBuilder builder_;
};

}  // namespace muster::sched

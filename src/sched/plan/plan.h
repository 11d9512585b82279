// The result of a planning pass: starts, reserved windows, and for every need that waits what
// stands in its way.
//
//   ClusterSnapshot ──Planner::plan──▶ Plan ──┬─ starts      to be committed in this order
//                                             ├─ windows     future room that nobody else may use
//                                             ├─ successors  whose turn it is when room appears
//                                             (fast_path.h) └─ outcomes    explained by reasons.h
// Policy: EASY backfilling (Lifka, JSSPP 1995; Mu'alem & Feitelson, IEEE TPDS 12(6), 2001),
// generalised from a count of processors to amounts per node: a job behind a blocked one starts if,
// on every node it takes, the reserved amounts are still there when they are due. A blocked job is
// given a window while some node it could use is claimed by fewer than `reservation_depth` blocked
// jobs before it, so that jobs without common nodes never hold each other back. An unlimited depth
// is conservative backfilling; with at most reservation_max windows it is Slurm's
// (bf_max_job_test).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "model/ids.h"
#include "model/reason.h"
#include "sched/placement/amounts.h"
#include "sched/priority/rank.h"
#include "sched/snapshot/snapshot.h"

namespace muster::sched {

/// The order in which jobs behind the first blocked one are tried.
enum class TailOrder : std::uint8_t {
  kRank = 0,       ///< as the queue stands
  kTimeLimit = 1,  ///< shortest time limit first (SJBF), then as the queue stands
};

struct PlanOptions {
  std::uint32_t reservation_depth = 1;  ///< windows per set of conflicting jobs
  /// Windows in all; a bound on the work of one pass. Where they are wide there may be fewer beyond
  /// those of depth 1 (Timeline::is_search_left).
  std::uint32_t reservation_max = 1000;
  bool is_backfill = true;  ///< false: nothing passes a blocked job on nodes that it could use
  TailOrder tail_order = TailOrder::kRank;
  /// A running job that is past its expected end is expected to end this much after now ...
  Duration overdue_grace = Duration::seconds(1);
  /// ... or, as simulators of the literature do, counts as gone. The caller must end it before it
  /// commits starts.
  bool is_overdue_free = false;
  /// Points to where the planner writes which job is being placed, for whoever asks what a plan
  /// died of; null: nobody does.
  JobId* placing = nullptr;

  static PlanOptions conservative() {
    PlanOptions options;
    options.reservation_depth = UINT32_MAX;
    return options;
  }
  friend bool operator==(const PlanOptions&, const PlanOptions&) = default;
};

/// A job (or one element of the array record `job`) to be started now.
struct Start {
  JobId job;
  PartitionIndex partition;
  TimePoint end;                  ///< expected: now + time limit
  std::vector<NodeAmount> nodes;  ///< rising by node
  friend bool operator==(const Start&, const Start&) = default;
};

/// Room reserved for a blocked job: from `start` on these amounts are its own.
struct Window {
  JobId job;
  QueueRank rank;
  PartitionIndex partition;
  TimePoint start;
  TimePoint end;
  std::vector<NodeAmount> nodes;
  std::uint64_t need = 0;  ///< its serial
  friend bool operator==(const Window&, const Window&) = default;
};

/// A lane that still has jobs waiting, with the rank of the best of them.
struct Successor {
  QueueRank rank;
  LaneIndex lane;
  std::uint64_t serial = 0;
  friend bool operator==(const Successor&, const Successor&) = default;
};

/// What stands in a need's way, time limits aside. `refusal` is kNone while only room is missing.
struct NeedOutcome {
  NeedIndex need;
  std::uint64_t serial = 0;
  PendingReason refusal = PendingReason::kNone;
  friend bool operator==(const NeedOutcome&, const NeedOutcome&) = default;
};

/// A plan is a value: it is made from the snapshot at `revision`, and does not change.
struct Plan {
  std::uint64_t revision = 0;
  TimePoint now;
  PlanOptions options;
  std::vector<Start> starts;          ///< in the order of decision
  std::vector<Window> windows;        ///< in the order of rank
  std::vector<Successor> successors;  ///< best first
  std::vector<NeedOutcome> outcomes;  ///< rising by need
  std::uint64_t effort = 0;  ///< what placing tasks and devices at once has cost (Seeking::cost):
                             ///< no part of what was decided
  friend bool operator==(const Plan& a, const Plan& b) {
    return a.revision == b.revision && a.now == b.now && a.options == b.options &&
           a.starts == b.starts && a.windows == b.windows && a.successors == b.successors &&
           a.outcomes == b.outcomes;
  }

  /// Returns what stood in the need's way; kNone also of one that the plan did not know.
  PendingReason refusal_of(NeedIndex need, std::uint64_t serial) const {
    const NeedOutcome* found = outcome_of(need, serial);
    return found == nullptr ? PendingReason::kNone : found->refusal;
  }
  /// Returns null of a need that the plan did not know. Cost: O(log needs).
  const NeedOutcome* outcome_of(NeedIndex need, std::uint64_t serial) const {
    const auto found = std::ranges::lower_bound(outcomes, need, {}, &NeedOutcome::need);
    // The serial tells a need from one that had its place before.
    const bool is_known = found != outcomes.end() && found->need == need && found->serial == serial;
    return is_known ? &*found : nullptr;
  }

  /// Returns the job's window, or null; of several, in tiers of their own, the one that begins
  /// first.
  const Window* window_of(JobId job) const {
    const Window* first = nullptr;
    for (const Window& window : windows) {
      if (window.job == job && (first == nullptr || window.start < first->start)) first = &window;
    }
    return first;
  }
};

}  // namespace muster::sched

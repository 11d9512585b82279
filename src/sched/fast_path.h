// Starting one job between two plans, in the turn in which it was submitted or in which room
// appeared.
#pragma once

#include <variant>

#include "sched/plan.h"
#include "sched/snapshot.h"

namespace muster::sched {

/// Why a job does not start on the fast path. All of it is settled by the next plan.
enum class Hesitation : std::uint8_t {
  kNotReady = 0,  ///< held, not yet eligible, throttled, or its partitions take no work
  kNoRoom = 1,    ///< does not fit beside what runs and what the plan keeps
  kOutranked =
      2,  ///< a job of equal or higher rank could use those nodes and the plan has not weighed it
  kPlanTooOld = 3,  ///< more has changed than is remembered
};

/// The start, or why not.
using FastStart = std::variant<Start, Hesitation>;

/// Starts `job` (or one element of it) now if that delays no window of `plan` and takes nothing
/// from a job of equal or higher rank: room that `plan` saw and left is free for anyone; room that
/// appeared since is for the best ranked job that could use it. `snapshot` is at or after
/// plan.revision, with the plan's starts applied or dropped. Pure: nothing is changed. Requires:
/// snapshot.advance_time(now) was called. Cost: O(nodes + shapes * nodes / 64), well below a plan.
/// Determinism: as a plan.
FastStart try_start_now(const ClusterSnapshot& snapshot, const Plan& plan, JobId job,
                        TimePoint now);

}  // namespace muster::sched

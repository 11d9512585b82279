// Why a job waits: every fact that stands in its way, and the one word of Slurm's.
#pragma once

#include <variant>

#include "model/reason.h"
#include "sched/plan/plan.h"
#include "sched/snapshot/snapshot.h"

namespace muster::sched {

/// The plan starts the job, or `count` elements of an array, the first of which is `start` among
/// plan.starts.
struct Placed {
  std::size_t start = 0;
  std::uint32_t count = 1;
};
/// The job waits. `until` is the window's start; unset: nobody has worked it out; never: not by
/// what is expected to end.
struct Blocked {
  TimePoint until;
  Reasons reasons;
};
/// The job cannot run in any of its partitions as the cluster is configured.
struct Infeasible {
  Reasons reasons;
};
using Outcome = std::variant<Placed, Blocked, Infeasible>;

/// Returns what `plan` means for a pending job. `snapshot` is the plan's or a later one. Cost:
/// O(nodes * partitions + lanes * nodes/64 + jobs that go first). The word is the first that
/// applies: a hold; BeginTime; JobArrayTaskLimit; a partition's refusal; Resources for a job with a
/// window, and for the first of its lane when no window of a better rank is on its nodes; Priority
/// for the others.
Outcome outcome_of(const ClusterSnapshot& snapshot, const Plan& plan, JobId job);

/// Returns Slurm's word alone for a job of which something still waits, cheaply enough to be asked
/// for every job of a long list. Cost: O(outcomes); for the best of a lane O(nodes of all
/// windows) besides.
PendingReason reason_word(const ClusterSnapshot& snapshot, const Plan& plan, JobId job);

/// Returns the reasons alone; `word` is kNone for a job that the plan starts.
Reasons reasons_of(const ClusterSnapshot& snapshot, const Plan& plan, JobId job);

}  // namespace muster::sched

// A slow check of plans, for small clusters: every job tried on every node, every instant tried for
// a window, nothing remembered. It uses the planner's rules of placing one job, and none of its
// lanes, memo, timeline or search.
#pragma once

#include "sched/plan/plan.h"

namespace muster::sched {

/// CHECKs what must hold of a plan made from `snapshot`: the starts of a plan without windows are
/// those of the queue worked off job by job; starts and windows together never take more of a node
/// than there is, at any time; the first window begins at the first instant at which its job fits.
/// Requires: no running job is overdue; ids of pending jobs are at most `last_job`. Cost: O(jobs *
/// nodes + ends * nodes).
void check_plan(const ClusterSnapshot& snapshot, const Plan& plan, JobId last_job);

}  // namespace muster::sched

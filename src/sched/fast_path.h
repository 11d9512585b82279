// Starting one job between two plans, in the turn in which it was submitted or in which room
// appeared.
#pragma once

#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "sched/placement/node_order.h"
#include "sched/plan/plan.h"
#include "sched/snapshot/snapshot.h"

namespace muster::sched {

/// Why a job does not start on the fast path. The answer is final for now: the next plan looks at
/// the job again.
enum class Hesitation : std::uint8_t {
  kNotReady = 0,  ///< held, not yet eligible, throttled, or its partitions accept no work
  kNoRoom = 1,    ///< does not fit beside what runs and is planned, or is too costly to place
  kOutranked =
      2,  ///< a job of equal or higher rank could use those nodes and the plan has not weighed it
  kPlanTooOld = 3,  ///< more has changed than is remembered
};

/// The start, or why there is none.
using FastStart = std::variant<Start, Hesitation>;

/// What one call of try_start_now() leaves for the next about the same snapshot, so that only nodes
/// that changed in between are looked at again. It begins default-constructed; the answers are the
/// same without it.
struct FastMemo {
  std::uint64_t config_revision = 0;
  std::uint64_t revision = 0;  ///< the snapshot's when the rest was right; 0: never
  BestFitOrder order;
  NodeSet with_cpus;  ///< nodes on which some CPU is free: no other can carry a task
};

/// Starts `job` (or one element of it) now if that delays no window of `plan` and uses nothing that
/// belongs to a job of equal or higher rank: room that `plan` saw and left is free for anyone; room
/// that appeared since is for the best ranked job that could use it. `snapshot` is at or after
/// plan.revision, which counts this snapshot's changes (of a plan made from another it must be
/// translated), with the plan's starts applied or dropped. Pure: nothing is changed. Requires:
/// the job is pending in the snapshot (checked); snapshot.advance_time(now) was called; `memo`,
/// where given, was used with no other snapshot, and is the only argument that changes. Cost:
/// O(nodes + (lanes + needs) * nodes / 64), well below a plan; without a memo O(nodes log nodes).
/// Determinism: as a plan, with a memo or without.
FastStart try_start_now(const ClusterSnapshot& snapshot, const Plan& plan, JobId job, TimePoint now,
                        FastMemo* memo = nullptr);

/// Returns the nodes that gained room since `plan` was made, rising. Nullopt: that is too long ago
/// to know.
std::optional<std::vector<NodeIndex>> freed_since(const ClusterSnapshot& snapshot,
                                                  const Plan& plan);

/// False when none of `freed`, all that gained room since a plan in which no job of the lane could
/// start, could carry a task of it. Cost: O(freed).
bool may_start_on(const ClusterSnapshot& snapshot, const Lane& lane,
                  std::span<const NodeIndex> freed);

}  // namespace muster::sched

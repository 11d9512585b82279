// Makes plans (plan/plan.h says what they are).
#pragma once

#include <memory>
#include <span>

#include "base/time.h"
#include "sched/plan/plan.h"
#include "sched/snapshot/snapshot.h"

namespace muster::sched {

/// Plans, and stores between plans what the next one can use again. The memo changes the cost of a
/// plan, never its result, unless placing has become so hard that a pass breaks off
/// (Timeline::is_effort_left). One planner follows one snapshot (or copies of it). Not for several
/// threads at once.
class Planner {
 public:
  Planner();
  ~Planner();
  Planner(Planner&&) noexcept;
  Planner& operator=(Planner&&) noexcept;

  /// Makes a plan. Requires: snapshot.advance_time(now) was called. `kept`: windows of an earlier
  /// plan of which those that still are free stand, though their jobs may have come to fit earlier;
  /// none: every window is the earliest. Determinism: equal snapshots, now, options and kept
  /// windows give equal plans; planning again after its starts were applied, at the same instant,
  /// starts nothing. Cost: O(starts + lanes + needs * nodes / 64 + windows * (ends + nodes)).
  Plan plan(const ClusterSnapshot& snapshot, TimePoint now, const PlanOptions& options,
            std::span<const Window> kept = {});

 private:
  struct Memo;
  std::unique_ptr<Memo> memo_;
};

/// Makes a plan without a memo.
Plan plan(const ClusterSnapshot& snapshot, TimePoint now, const PlanOptions& options = {});

}  // namespace muster::sched

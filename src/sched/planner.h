// Makes plans (plan/plan.h says what they are).
#pragma once

#include <memory>

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

  /// Makes a plan. Requires: snapshot.advance_time(now) was called. Determinism: equal snapshots,
  /// now and options give equal plans; planning again after its starts were applied, at the same
  /// instant, starts nothing. Cost: O(starts + lanes + needs * nodes / 64 + windows * (ends +
  /// nodes)).
  Plan plan(const ClusterSnapshot& snapshot, TimePoint now, const PlanOptions& options);

 private:
  struct Memo;
  std::unique_ptr<Memo> memo_;
};

/// Makes a plan without a memo.
Plan plan(const ClusterSnapshot& snapshot, TimePoint now, const PlanOptions& options = {});

}  // namespace muster::sched

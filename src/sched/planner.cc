// The planner is its memo: a pass has no state that outlives it.

#include "sched/planner.h"

#include "sched/backfill/pass.h"

namespace muster::sched {

struct Planner::Memo : PassMemo {};

Planner::Planner() : memo_(std::make_unique<Memo>()) {}
Planner::~Planner() = default;
Planner::Planner(Planner&&) noexcept = default;
Planner& Planner::operator=(Planner&&) noexcept = default;

Plan Planner::plan(const ClusterSnapshot& snapshot, TimePoint now, const PlanOptions& options,
                   std::span<const Window> kept) {
  return Pass(snapshot, now, options, *memo_, kept).run();
}

Plan plan(const ClusterSnapshot& snapshot, TimePoint now, const PlanOptions& options) {
  PassMemo memo;
  return Pass(snapshot, now, options, memo, {}).run();
}

}  // namespace muster::sched

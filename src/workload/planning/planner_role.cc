// A follower of the durable log with a replica of its own. At most one plan is in flight: what it
// started comes back as events, up to the batch that consumed() names, before the next one is made.
#include "workload/planning/planner_role.h"

#include <algorithm>
#include <span>

#include "sched/reasons.h"

namespace muster {

PlannerRole::PlannerRole(std::uint64_t search_max) : search_max_(search_max), feed_(snapshot_) {}
PlannerRole::~PlannerRole() = default;

void PlannerRole::start() {
  feed_.load(state_);
  elastic_.load(state_);
  planned_revision_ = 0;
}

void PlannerRole::apply(const EventBatch& batch) {
  // Blobs first: events refer to them.
  for (const BlobWrite& blob : batch.blobs) state_.add_blob(blob);
  for (const Event& event : batch.events) {
    state_.apply(event);
    elastic_.record(event);
    // Before the first configuration there are no nodes to plan for.
    if (state_.is_configured()) feed_.on_event(event, state_);
  }
  if (state_.is_configured()) feed_.refresh(state_);
  state_.seal(batch.seq);
}

sched::PlanOptions PlannerRole::options() const {
  const ClusterSettings& settings = state_.settings();
  sched::PlanOptions options;
  options.placing = placing_;
  options.is_backfill = settings.is_backfill;
  options.reservation_max = settings.backfill_windows;
  options.reservation_depth = settings.backfill_depth == 0 ? UINT32_MAX : settings.backfill_depth;
  // Without backfilling the first that waits for a node closes it to all behind.
  if (!settings.is_backfill) options.reservation_depth = 1;
  return options;
}

bool PlannerRole::may_keep_windows() const {
  return last_plan_ != nullptr &&
         last_plan_->windows.size() * snapshot_.ends().size() > search_max_;
}

std::optional<PlanResult> PlannerRole::plan(TimePoint now) {
  if (!state_.is_configured()) return std::nullopt;
  // Starts of the last plan that have not come back as events would be planned a second time.
  if (is_in_flight_) {
    if (!await_ || state_.seq() < *await_) return std::nullopt;
    is_in_flight_ = false;
    await_.reset();
  }
  snapshot_.advance_time(std::max(now, state_.time()));
  const bool has_changed = snapshot_.revision() != planned_revision_;
  // A change that came with a plan is looked at for elastic trials later, when a look is due.
  const bool is_looking = elastic_.is_due(now, has_changed || has_unlooked_change_);
  const TimePoint begin = std::max(now, state_.time());
  const bool is_search_due = has_kept_ && begin >= sought_at_ + state_.settings().backfill_interval;
  if (!has_changed && !is_looking && !is_search_due) return std::nullopt;
  has_unlooked_change_ = has_changed || has_unlooked_change_;
  planned_revision_ = snapshot_.revision();
  const bool is_keeping = !is_search_due && may_keep_windows();
  const std::span<const sched::Window> kept =
      is_keeping ? std::span(last_plan_->windows) : std::span<const sched::Window>();
  auto plan = std::make_shared<const sched::Plan>(planner_.plan(snapshot_, begin, options(), kept));
  if (!is_keeping) sought_at_ = begin;
  has_kept_ = is_keeping;
  is_in_flight_ = true;
  last_plan_ = plan;
  PlanResult result{state_.seq(), plan, reporter_.report(snapshot_, *plan, state_.seq())};
  // Resizing waits until nothing can start by itself: it costs running work.
  if (is_looking && plan->starts.empty()) {
    has_unlooked_change_ = false;
    result.resize = elastic_.look(state_, feed_, snapshot_, *plan, begin);
  }
  return result;
}

std::map<JobId, Reasons> PlannerRole::explain(std::span<const JobId> jobs) const {
  std::map<JobId, Reasons> reasons;
  if (last_plan_ == nullptr) return reasons;
  for (const JobId job : jobs) {
    // Only jobs that wait for room: a hold or dependency is its own explanation.
    const sched::PendingJob* pending = snapshot_.find_pending(job);
    if (pending == nullptr ||
        !snapshot_.lane(snapshot_.lane_of(job)).ready.contains(pending->rank()))
      continue;
    reasons[job] = sched::reasons_of(snapshot_, *last_plan_, job);
  }
  return reasons;
}

}  // namespace muster

// The planner as a follower: it has its own replica, and makes a plan when something changed and
// the last one has been consumed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>

#include "model/reason.h"
#include "sched/planner.h"
#include "state/cluster_state.h"
#include "workload/planning/elastic_feed.h"
#include "workload/planning/plan_report.h"
#include "workload/planning/plan_result.h"
#include "workload/planning/snapshot_feed.h"

namespace muster {

class PlannerRole {
 public:
  /// Windows times expected ends up to which every plan seeks all windows: some milliseconds.
  static constexpr std::uint64_t kSearchMax = 200'000;
  /// `search_max`: beyond it windows stand for ClusterSettings::backfill_interval where they can
  /// still be had, though their jobs may have come to fit earlier. A job that fits at once beside
  /// the windows starts at once.
  explicit PlannerRole(std::uint64_t search_max = kSearchMax);
  ~PlannerRole();

  ClusterState& state() { return state_; }
  const ClusterState& state() const { return state_; }
  /// Sets where each plan writes which job it is placing. Lifetime: outlives the role.
  void show_work(JobId& placing) { placing_ = &placing; }
  /// Starts; called once `state()` has been restored.
  void start();
  void apply(const EventBatch& batch);
  /// Returns a plan when one is due: something changed since the last, a job became eligible, or
  /// elastic trials are to be looked at, or windows have stood for long enough. Nullopt: nothing to
  /// plan, or the last plan's starts are not applied yet. Cost: a plan.
  std::optional<PlanResult> plan(TimePoint now);
  /// Called when the core has turned a plan into batches up to `until`.
  void consumed(Seq until) { await_ = until; }
  const sched::ClusterSnapshot& snapshot() const { return snapshot_; }
  /// Returns all that stands in the way of each of these jobs that waits for room, by the last
  /// plan. Cost: O(nodes + windows) a job.
  std::map<JobId, Reasons> explain(std::span<const JobId> jobs) const;

 private:
  sched::PlanOptions options() const;
  bool may_keep_windows() const;

  std::uint64_t search_max_;
  JobId* placing_ = nullptr;
  ClusterState state_;
  sched::ClusterSnapshot snapshot_;
  SnapshotFeed feed_;
  ElasticFeed elastic_;
  sched::Planner planner_;
  std::shared_ptr<const sched::Plan> last_plan_;
  PlanReporter reporter_;
  TimePoint sought_at_;    ///< when a plan last sought all windows
  bool has_kept_ = false;  ///< a plan since then has kept some
  std::uint64_t planned_revision_ = 0;
  bool has_unlooked_change_ = false;  ///< since elastic trials were looked at
  bool is_in_flight_ = false;
  std::optional<Seq> await_;
};

}  // namespace muster

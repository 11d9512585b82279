// Finds the elastic trials among the jobs, and decides how many slots each should have
// (sched/elastic.h). Where no experiment is elastic it costs nothing.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "sched/elastic.h"
#include "state/cluster_state.h"
#include "workload/planning/snapshot_feed.h"

namespace muster {

/// The feed follows one ClusterState.
class ElasticFeed {
 public:
  void load(const ClusterState& state);
  void record(const Event& event);

  /// True when it is time to look again. Requires: called with times that never go back.
  /// `has_changed`: something has, since the last plan; else only trials that ran long enough
  /// meanwhile can matter.
  bool is_due(TimePoint now, bool has_changed) const {
    return !experiments_.empty() && now >= (has_changed ? next_look_ : next_idle_look_);
  }
  /// Returns what should change next, if anything. Requires: as resize_of. Cost: at most kLooks
  /// copies of the snapshot.
  std::optional<sched::Resize> look(const ClusterState& state, SnapshotFeed& feed,
                                    const sched::ClusterSnapshot& snapshot, const sched::Plan& plan,
                                    TimePoint now);

  static constexpr Duration kEvery = Duration::seconds(1);
  static constexpr Duration kIdleEvery = Duration::seconds(30);
  static constexpr std::size_t kLooks = 16;

 private:
  std::vector<sched::ElasticJob> jobs(const ClusterState& state, SnapshotFeed& feed, TimePoint now);

  std::set<ExperimentId> experiments_;  ///< elastic ones; some may be over
  TimePoint next_look_;
  TimePoint next_idle_look_;
  std::size_t turn_ = 0;  ///< of which look it is: they take turns where there are many
};

}  // namespace muster

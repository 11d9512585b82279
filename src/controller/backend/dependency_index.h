// Who waits for whom, and what has become of each wait.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/event.h"
#include "state/cluster_state.h"

namespace muster {

/// Derived from the state; lost and rebuilt on restart.
class DependencyIndex {
 public:
  void load(const ClusterState& state);
  /// To be called after `state` applied the event.
  void on_event(const Event& event, const ClusterState& state);
  /// Jobs whose dependencies may have changed since the last call, rising.
  std::vector<JobId> take_affected();

 private:
  void watch(const Job& job);
  void affect_waiters_of(const Job& job);

  std::map<JobId, std::set<JobId>> waiters_;  ///< by the job (or array record) waited for
  std::map<std::pair<UserId, std::string>, std::set<JobId>> singletons_;
  std::set<JobId> affected_;
};

/// The outcome of a job's dependencies as things stand: each term's state, whether it may start, and whether it never can.
struct DependencyOutcome {
  DependencySet set;
  bool is_satisfied = false;
  bool is_never = false;
  TimePoint not_before;  ///< of after:N+minutes; unset: none
};
/// `element`: as if that element of the array record `job` asked. Requires: job.dependencies. Source: sbatch(1), --dependency.
DependencyOutcome evaluate_dependencies(const Job& job, const ClusterState& state, std::optional<std::uint32_t> element = {});

}  // namespace muster

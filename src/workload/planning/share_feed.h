// Knows the positions that waiting trials have in the queue as their experiments share them
// (sched/priority/share.h). Where every experiment of a user has the usual priority and weight,
// positions are those of submission and nothing is worked out.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "sched/snapshot/snapshot.h"
#include "state/cluster_state.h"

namespace muster {

/// The feed follows one ClusterState. What it says depends on the state alone.
class ShareFeed {
 public:
  /// Records a change of a job: it waits to be planned, or does not.
  void record(const Job& job, bool is_waiting);
  /// Records a change of an experiment's share.
  void record(const Experiment& experiment) { touched_.insert(experiment.spec->user); }
  void forget(JobId job) { positions_.erase(job); }

  struct QueuePosition {
    TimePoint time;
    JobId job;
    friend bool operator==(const QueuePosition&, const QueuePosition&) = default;
  };
  /// Returns the job's position; null: it has its own.
  const QueuePosition* position_of(JobId job) const;

  /// Works out the positions of those that were touched. Returns the jobs whose positions changed.
  /// Cost: O(trials of these users' experiments).
  std::vector<JobId> refresh(const ClusterState& state);

 private:
  void refresh_user(const ClusterState& state, const std::set<JobId>& waiting,
                    std::vector<JobId>& changed);

  std::map<UserId, std::set<JobId>> waiting_;
  std::map<JobId, QueuePosition> positions_;
  std::set<UserId> touched_;
};

}  // namespace muster

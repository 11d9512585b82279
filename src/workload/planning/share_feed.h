// Keeps the places of waiting trials in the queue as their experiments share them
// (sched/priority/share.h). Where every experiment of a user has the usual priority and weight,
// places are those of submission and nothing is worked out.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "sched/snapshot/snapshot.h"
#include "state/cluster_state.h"

namespace muster {

/// Follows one ClusterState. What it says depends on the state alone.
class ShareFeed {
 public:
  /// After a change of a job: it waits to be planned, or does not.
  void record(const Job& job, bool is_waiting);
  /// After a change of an experiment's share.
  void record(const Experiment& experiment) { touched_.insert(experiment.spec->user); }
  void forget(JobId job) { positions_.erase(job); }

  struct QueuePosition {
    TimePoint time;
    JobId job;
    friend bool operator==(const QueuePosition&, const QueuePosition&) = default;
  };
  /// Nothing: its own.
  const QueuePosition* position_of(JobId job) const;

  /// Works out the places of those that were touched; the jobs whose places changed. Cost: O(trials
  /// of these users' experiments).
  std::vector<JobId> refresh(const ClusterState& state);

 private:
  void refresh_user(const ClusterState& state, const std::set<JobId>& waiting,
                    std::vector<JobId>& changed);

  std::map<UserId, std::set<JobId>> waiting_;
  std::map<JobId, QueuePosition> positions_;
  std::set<UserId> touched_;
};

}  // namespace muster

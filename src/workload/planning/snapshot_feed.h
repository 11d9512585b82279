// Updates a planner's snapshot from the state, event by event.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "model/event.h"
#include "sched/snapshot/snapshot.h"
#include "state/cluster_state.h"
#include "state/request_pool.h"
#include "workload/planning/share_feed.h"

namespace muster {

/// The feed follows one ClusterState. Determinism: feeds that saw the same events have equal
/// snapshots.
class SnapshotFeed {
 public:
  explicit SnapshotFeed(sched::ClusterSnapshot& snapshot) : snapshot_(snapshot) {}

  /// Loads a restored state. Requires: the snapshot is fresh.
  void load(const ClusterState& state);
  /// Called after `state` applied the event.
  void on_event(const Event& event, const ClusterState& state);
  /// Compiles at once what has changed of many nodes: called before the snapshot is asked between
  /// two refresh().
  void compile(const ClusterState& state);
  /// Brings the snapshot up to date: called when the events of a turn or a batch have all been
  /// seen, before anything is planned.
  void refresh(const ClusterState& state);
  /// Returns the job as it waits, or would.
  sched::PendingJob pending_job(const Job& job, const ClusterState& state);

 private:
  /// Brings one job's entries to what the state says: waiting, running, or neither. Cost: O(its
  /// nodes + log n).
  void refresh(JobId id, const ClusterState& state);
  void refresh_pending(JobId id, const Job* job, const ClusterState& state);
  void update_element(const Job& job);
  void refresh_running(JobId id, const Job* job, const ClusterState& state);
  /// Refreshes an element's array, whose counts changed with it, and with a throttle the elements
  /// that wait again. Cost: O(those).
  void refresh_array_of(JobId id, const ClusterState& state);
  void set_cluster(const ClusterState& state);
  std::shared_ptr<const ResourceRequest> need_of(const Job& job, PartitionIndex partition,
                                                 const ClusterState& state);

  sched::ClusterSnapshot& snapshot_;
  ShareFeed shares_;
  std::map<JobId, std::set<JobId>>
      waiting_elements_;  ///< that have split off and wait again, by their array
  bool is_cluster_stale_ =
      false;  ///< weights or features of nodes have changed since the snapshot was compiled
  RequestPool needs_;  ///< the requests that jobs of one need share
};

/// Returns what the planner counts of a grant.
sched::NodeAmount amount_of(const NodeGrant& grant, const sched::ClusterSnapshot& snapshot);

/// Returns why the state alone keeps a pending job from being planned: a hold, a dependency. kNone:
/// nothing does.
PendingReason standing_hold(const Job& job);

}  // namespace muster

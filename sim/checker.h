// What must hold whatever happens. Judges by what clients were told, by what the journal made durable and by what tasks
// did, never by what the core believes. A violation stops the process with its reason.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/agent_message.h"
#include "model/event.h"
#include "sim/fake_history.h"
#include "sim/options.h"
#include "sim/timeline.h"
#include "state/cluster_state.h"

namespace muster::sim {

class Checker {
 public:
  Checker(const Timeline& timeline, const Options& options, const FakeHistory& history) : timeline_(timeline), options_(options), history_(history) {}

  // ---- tasks ----
  /// A supervisor comes up. At most one ever does for a step on a node.
  void spawned(NodeIndex node, const StepId& step);
  /// No CPU or device may be in use by two jobs at once.
  void task_started(NodeIndex node, const LaunchStep& launch, std::size_t task);
  void task_ended(NodeIndex node, const LaunchStep& launch, std::size_t task, ExitStatus status);
  /// A supervisor ended its step because the time was over and nobody had told it.
  void deadline_enforced(const LaunchStep& launch);
  /// The step may be reported lost: something happened to it.
  void excuse(const StepId& step) { excused_.insert(step); }
  void trace(const std::string& text) const;

  // ---- the log ----
  /// Batches become durable in order and for good.
  void published(const EventBatch& batch);
  Seq last_published() const { return published_; }
  void note_hash(const ClusterState& state);
  /// CHECKs that a replica equals what was seen at its sequence number. `what` names it.
  void compare(const ClusterState& state, const char* what);
  /// A new controller stands on what it read: nothing that was published may be missing. What had been stored without
  /// anybody having been told is seen here first.
  void recovered(const ClusterState& state);
  void check_ledger(const ClusterState& state) const;
  /// Whatever has ended is in history, for good. Requires: nothing is under way any more.
  void check_history() const;

  // ---- clients ----
  void cancelled(JobId job) { cancelled_.insert(job); }
  bool has_ended(JobId job) const;
  std::uint64_t jobs_ended() const { return jobs_ended_; }
  std::uint64_t tasks_run() const { return tasks_run_; }

 private:
  struct Run {
    std::uint32_t live = 0;
    ExitStatus worst;
    std::uint32_t ended = 0;
  };
  struct Place {
    JobId job;
    std::uint32_t uses = 0;
  };
  struct Known {
    JobState state = JobState::kPending;
    bool is_completing = false;
    bool is_evicted = false;
    bool has_completed = false;   ///< once: a dependency that was fulfilled stays so
    std::uint32_t attempt = 0;
    TimePoint start;        ///< by the cluster's time
    TimePoint true_start;   ///< when it was known to be
    JobId array;                 ///< itself, or the one that it was split from
    std::uint32_t throttle = 0;  ///< of the array that it is; 0: none
    Duration limit;
    TimePoint suspended_since;
    Duration suspended;
    std::size_t nodes_left = 0;
    JobSpecRef spec;
    DependencySet dependencies;
  };
  struct Follow;
  void take(NodeIndex node, const NodeGrant& grant, JobId job, bool is_shared);
  void give(NodeIndex node, const NodeGrant& grant, JobId job, bool is_shared);
  Known& known(JobId job);
  void check_throttle(JobId array) const;
  void follow(const Event& event);

  const Timeline& timeline_;
  const Options& options_;
  const FakeHistory& history_;
  std::map<std::pair<NodeIndex, StepId>, Run> runs_;
  std::map<std::tuple<std::uint32_t, std::string, std::size_t>, Place> places_;
  std::set<StepId> excused_;
  std::set<JobId> cancelled_;
  std::set<std::pair<JobId, std::uint32_t>> node_failed_;
  std::unordered_map<JobId, Known> jobs_;
  std::vector<std::uint64_t> hashes_;  ///< after batch n at n
  Seq published_;
  TimePoint time_;
  bool is_node_downed_ = false;  ///< an operator has taken a node down
  std::uint64_t jobs_ended_ = 0;
  std::uint64_t tasks_run_ = 0;
};

}  // namespace muster::sim

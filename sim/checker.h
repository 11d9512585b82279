// What must hold whatever happens. Judges by what clients were answered, by what the journal made
// durable and by what tasks did, never by what the core believes. A violation stops the process
// with its reason.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/agent_message.h"
#include "model/event.h"
#include "sim/history.h"
#include "sim/options.h"
#include "sim/timeline.h"
#include "state/cluster_state.h"

namespace muster::sim {

/// What is said of a step that found no room where it was to start.
inline constexpr const char* kNoRoom = "No space left on device";

/// What the log has said, and clients beside it.
struct Knowledge {
  struct Known {
    JobState state = JobState::kPending;
    bool is_completing = false;
    bool is_evicted = false;
    bool has_completed = false;  ///< once: a dependency that was fulfilled stays so
    std::uint32_t attempt = 0;
    TimePoint start;             ///< by the cluster's time
    TimePoint true_start;        ///< when it was known to be
    JobId array;                 ///< itself, or the one that it was split from
    std::uint32_t throttle = 0;  ///< of the array that it is; 0: none
    Duration limit;
    TimePoint suspended_since;
    Duration suspended;
    std::size_t nodes_left = 0;
    bool is_given_again = false;  ///< its id, or those of its steps, before anybody could know that
                                  ///< they had been given
    JobSpecRef spec;
    DependencySet dependencies;
  };
  std::set<JobId> cancelled_;
  std::set<std::pair<JobId, std::uint32_t>> node_failed_;
  std::unordered_map<JobId, Known> jobs_;
  std::vector<std::uint64_t> hashes_;  ///< after batch n at n
  Seq published_;
  TimePoint time_;
  std::map<StepId, StepLayoutRef> layouts_;
  std::map<StepId, std::uint64_t> launch_keys_;
  std::set<std::pair<NodeIndex, StepId>>
      begun_;  ///< parts of steps of which the log says that they began
  std::map<StepId, ExitStatus> script_exits_;  ///< of batch scripts, as they were reported
  bool is_node_downed_ = false;                ///< an operator has taken a node down
};

class Checker : private Knowledge {
 public:
  Checker(const Timeline& timeline, const Options& options, const History& history)
      : timeline_(timeline), options_(options), history_(history) {}

  // ---- tasks ----
  /// A supervisor comes up. At most one ever does for a step on a node.
  void spawned(NodeIndex node, std::uint32_t host, const StepId& step);
  /// No CPU or device may be in use by two jobs at once.
  void task_started(NodeIndex node, std::uint32_t host, const LaunchStep& launch, std::size_t task);
  void task_ended(NodeIndex node, std::uint32_t host, const LaunchStep& launch, std::size_t task,
                  ExitStatus status);
  /// A supervisor ended its step because the time was over, without an order.
  void deadline_enforced(const LaunchStep& launch);
  /// The step may be reported lost: something happened to it.
  void excuse(const StepId& step) { excused_.insert(step); }
  /// The step found no room to start: for that alone, and in these words, it may end.
  void refused(const StepId& step) { refused_.insert(step); }
  /// The machine's agent has lost sight of what runs there: it may overlap with what comes, until
  /// it is found.
  void lose_sight(const StepId& step) {
    excuse(step);
    out_of_sight_.insert(step.job);
  }
  /// The machine's agent and its spool know nothing of the step any more: it may come again unless
  /// the log knows of it.
  void forget_unless_begun(NodeIndex node, const StepId& step);
  /// The node's agent is silent until then: steps there may end by it that it has not heard of.
  void stands_still(NodeIndex node, TimePoint until) {
    silent_until_[node] = std::max(silent_until_[node], until);
  }
  /// A script or an environment could not be read: launches may end by it.
  void blob_failed() { has_blob_failed_ = true; }
  /// Something happened to a step of this run of the job.
  bool is_excused(JobId job, std::uint32_t attempt) const;
  void trace(const std::string& text) const;

  // ---- a state that was lost ----
  const Knowledge& knowledge() const { return *this; }
  /// The controller stands on what it knew then: what came later is forgotten, and whatever runs
  /// may be ended.
  void rewind(const Knowledge& then);

  // ---- the log ----
  /// Batches become durable in order and for good.
  void published(const EventBatch& batch);
  Seq last_published() const { return published_; }
  void record_hash(const ClusterState& state);
  /// CHECKs that a replica equals what was seen at its sequence number. `what` names it.
  void compare(const ClusterState& state, const char* what);
  /// A new controller stands on what it read: nothing that was published may be missing. What had
  /// been stored without an answer to anybody is seen here first.
  void recovered(const ClusterState& state);
  void check_ledger(const ClusterState& state) const;
  /// Whatever has ended is in history, for good. Requires: nothing is under way any more.
  void check_history() const;

  // ---- clients ----
  /// Nothing follows once the state was lost: the answer may be about another job of that number.
  void cancelled(JobId job) {
    if (!has_rewound_) cancelled_.insert(job);
  }
  /// Somebody has asked for the step's end by signal 9: it may never come up, in part or whole.
  void asked_to_kill(const StepId& step) { asked_to_kill_.insert(step); }
  bool has_ended(JobId job) const;
  std::uint64_t jobs_ended() const { return jobs_ended_; }
  std::uint64_t tasks_run() const { return tasks_run_; }

 private:
  struct Run {
    std::map<std::uint32_t, std::uint32_t>
        live;  ///< tasks, by host: a stranger may have taken the node's place
    ExitStatus worst;
    std::uint32_t ended = 0;
    std::uint64_t launch_key = 0;  ///< of the last launch
    bool is_forgotten =
        false;  ///< of before the state was put back: it may come again once it is over
  };
  using Holders = std::map<JobId, std::uint32_t>;  ///< how often each uses a CPU or device
  struct Follow;
  void allocate(std::uint32_t host, const NodeGrant& grant, JobId job, bool is_shared);
  void give(std::uint32_t host, const NodeGrant& grant, JobId job, bool is_shared);
  void add(JobId id, Known job);
  Known& known(JobId job);
  void check_throttle(JobId array) const;
  void follow(const Event& event);
  bool may_end_with(const StepId& step, const std::string& detail) const;

  const Timeline& timeline_;
  const Options& options_;
  const History& history_;
  std::map<StepId, std::map<NodeIndex, Run>> runs_;
  std::map<std::tuple<std::uint32_t, std::string, std::size_t>, Holders> places_;
  std::set<StepId> excused_;
  std::set<StepId> asked_to_kill_;
  std::map<NodeIndex, TimePoint> silent_until_;
  std::set<StepId> refused_;
  std::set<JobId> out_of_sight_;
  /// Launches that were under way when their node's spool forgot them: their supervisors may come
  /// up beside another's.
  std::set<std::pair<NodeIndex, StepId>> forgotten_launches_;
  /// Jobs that some node was ordered to start, whatever became of the state since. It may have been
  /// told of their end before anything of them ran: it remembers that as well.
  std::set<JobId> launched_;
  bool has_rewound_ = false;  ///< the state was lost, or an older copy put back
  JobId floor_known_;         ///< ids up to it have been passed over since the state was lost
  std::set<std::pair<JobId, std::uint32_t>> started_before_;  ///< runs that a lost state had begun
  std::set<JobId> forgotten_;  ///< those among them that the state has lost
  bool has_blob_failed_ = false;
  std::uint64_t jobs_ended_ = 0;
  std::uint64_t tasks_run_ = 0;
};

}  // namespace muster::sim

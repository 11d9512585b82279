// Runs of jobs from their first step to their clean end: how steps ended, jobs that end with them,
// orders to their nodes, steps that wait for room.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "workload/nodes/node_link.h"
#include "workload/roles.h"

namespace muster {

class RunRole {
 public:
  explicit RunRole(WorkloadRoles& roles);

  /// Begins with what is known of the runs in the restored state.
  void begin();
  /// Holds a job over which this process died again and again, until an operator has looked at it.
  void hold_suspect(JobId suspect);

  // ---- steps ----

  /// Handles a request for a step inside an allocation: it is answered at once or, where the step
  /// waits for other steps to end, then.
  void accept_step(Command& command);
  void on_step_done(NodeIndex node, const StepDone& done);
  /// Called when the node says that it runs its part.
  void on_running(NodeIndex node, const StepState& step);
  /// Records what nodes have begun, a second later: most short steps are over by then.
  void record_begun();
  /// Called when waiting steps of these jobs may find room.
  void mark_room(JobId job);
  void retry_waiting_steps();
  /// True when the node has said that it runs its part of the step, or has before this controller.
  bool has_begun_on(NodeIndex node, const StepId& step) const;
  /// True when the state has the step running there: neither it, nor its part, nor the job is over
  /// on that node. Null: false.
  bool is_wanted_on(NodeIndex node, const Job* job, const StepState* step) const;
  StepProgress& progress(const StepId& step) { return progress_[step]; }
  const StepProgress* find_progress(const StepId& step) const;

  // ---- ends ----

  void end_job(JobId job, JobState state, std::string cause);
  /// Ends a job whose time to stop by itself is over.
  void end_stopped(const Job& job);
  /// Releases the nodes of a job that ends on which nothing of it is left.
  void release_clean_nodes(JobId job);
  void queue_ending(JobId job) { endings_.push_back(job); }
  bool has_endings() const { return !endings_.empty(); }
  /// Does what follows from the ends of this turn.
  void finish_endings();

  // ---- orders ----

  /// Sends to every node of a run.
  void send_to_nodes(const Job& job, const ToAgent& message);
  /// Returns when the nodes themselves may end the job, should nobody reach them.
  ChangeEnd end_of(const Job& job) const;
  Duration over_time_limit(const Job& job) const;
  void send_signals(const std::vector<SignalOrder>& orders);
  /// Asks the run to stop: on one node, or on all.
  void deliver_stop(const Job& job, std::optional<NodeIndex> only);
  /// Sends what waited until its asker had read the answer.
  void send_due_orders();

  // ---- leases of clients' allocations ----

  void begin_lease(JobId job);
  Reply renew_lease(JobId job, const Identity& identity);
  /// Extends all leases, because none ran while this process stood still.
  void extend_leases();
  /// Called when the client has not renewed the lease.
  void on_lease_over(const Job& job);

 private:
  TimePoint now() const { return engine_.now(); }
  bool is_running_on(const Job& job, NodeIndex node) const;
  void finish_step(const Job& job, const StepState& step);
  void end_with_step(JobId job, const StepEnded& ended, const StepProgress& progress);
  void on_ending(const Job& job);
  std::vector<StepPart> extract_parts(const Job& job, NodeIndex node);
  void after_clean(JobId job);
  Reply create_step(const PreparedStep& request, const Identity& identity, Command& command);
  void retry_waiting_steps_of(JobId job);
  void send_end(JobId job, NodeIndex node, ToAgent message);
  bool is_to_be_terminated(const TerminateJob& order, NodeIndex node) const;

  WorkloadRoles& roles_;
  Engine& engine_;
  const ClusterState& state_;
  std::map<StepId, StepProgress> progress_;
  /// The starts in the order in which they were heard, until they are in the journal.
  std::deque<HeardStart> heard_starts_;
  std::vector<JobId> endings_;         ///< jobs whose end was decided in this turn
  std::vector<JobId> room_for_steps_;  ///< jobs in which waiting steps may find room now
  std::map<JobId, std::vector<Command>> waiting_steps_;
  std::map<JobId, TimePoint> leases_;
  /// Orders that wait until the client, whom they may end, has its answer. A crash loses them:
  /// agents that register get them anew.
  std::multimap<TimePoint, std::pair<NodeIndex, ToAgent>> later_orders_;
  /// How many runs in a row ended because their supervisor was lost.
  std::map<JobId, std::uint32_t> lost_runs_;
};

}  // namespace muster

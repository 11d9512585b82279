// Nodes as their agents' messages and their silence show them: registration, reports, nodes that
// are drained, given up and heard again. What is stored here is derived: a controller that starts
// learns it from the agents.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "model/agent_message.h"
#include "workload/nodes/node_link.h"
#include "workload/roles.h"

namespace muster {

class NodeRole {
 public:
  explicit NodeRole(WorkloadRoles& roles);

  void load();
  /// Makes a link for each node of the configuration.
  void begin();

  /// Registers a node whose agent has connected. Errors: kNotFound for an unknown name;
  /// kAlreadyExists while another one is connected, or while another machine is the node;
  /// kFailedPrecondition for an agent that belongs to another cluster; kUnavailable: this state is
  /// an older copy, and the controller starts again.
  Result<NodeIndex> on_register(const RegisterNode& hello);
  /// Handles a message. False: it is about what is not the node's, was logged and is not obeyed.
  bool on_agent(NodeIndex node, const FromAgent& message);
  void on_agent_lost(NodeIndex node);
  /// Handles signals that were sent there and of which nobody knows whether they arrived.
  void on_unheard(NodeIndex node, const std::vector<SignalStep>& signals);
  /// Begins everybody's time anew in a turn that comes late, before anything is judged.
  void notice_pause();
  /// Gives up nodes that are silent for too long, a bounded number of jobs in a turn.
  void watch_nodes();
  bool is_watch_cut() const { return is_node_watch_cut_; }
  void resume_watch();
  /// True just after a start, while nodes that were there before have not registered yet: one of
  /// them may know that this state is an older copy, in which ids would be given twice. It ends by
  /// itself.
  bool awaits_nodes() const;

  /// Queues a node that an operator, or silence, has taken down: what runs there is ended.
  void queue_downed(NodeIndex node) { downed_.push_back(node); }
  bool has_downed() const { return !downed_.empty(); }
  /// Ends jobs on such nodes, as far as the turn's allowance goes.
  void end_jobs_on_downed();

  /// Sends the message, or stores a signal that the node cannot accept now. Requires: it is
  /// durable.
  void send_or_store(NodeIndex node, const ToAgent& message);
  /// Drains a node that failed to launch what `done` says.
  void drain_for_launch(NodeIndex node, const StepDone& done);
  /// Drains a node that is at fault, so that no job meets the fault again until an operator has
  /// looked at it.
  void drain_for(NodeIndex node, const std::string& reason);
  /// True when the clock may judge the job's end: after a pause of our own its nodes are heard
  /// first, as long as they count as there.
  bool may_judge(const Job& job) const;

  const std::vector<NodeLink>& links() const { return links_; }
  NodeLink& link(NodeIndex node) { return links_[node.value()]; }
  const NodeLink& link(NodeIndex node) const { return links_[node.value()]; }

 private:
  TimePoint now() const { return engine_.now(); }
  void mark(NodeIndex node, ConditionChange what, std::optional<std::string> fault = std::nullopt);
  std::optional<Error> check_identity(const RegisterNode& hello);
  Status check_hello(NodeIndex node, const RegisterNode& hello);
  void fence_strangers(NodeIndex node, const RegisterNode& hello);
  bool fence_step(NodeIndex node, const StepId& step, std::uint64_t launch_key);
  bool fence_job(NodeIndex node, JobId job, std::uint32_t attempt);
  void end_alone(NodeIndex node, const StepId& step, std::uint64_t launch_key);
  void reconcile(NodeIndex node, const RegisterNode& hello, bool is_same_boot);
  void deliver_missed_signals(NodeIndex node);
  void launch_or_find(NodeIndex node, const RegisterNode& hello);
  void launch_on(NodeIndex node);
  void welcome_back(NodeIndex node);
  void record_fault(NodeIndex node, const std::string& fault);
  bool is_away(NodeIndex node) const;
  std::optional<std::string> why_not_of(NodeIndex node, const FromAgent& message) const;
  void hear(NodeIndex node, const FromAgent& message);
  void count_losses(NodeIndex node, const StepDone& done);
  void end_stranger(NodeIndex node, const StepRunning& running);
  void fail_jobs_on(NodeIndex node, const std::string& why);
  void fence_jobs_on(NodeIndex node);
  bool end_jobs_on(NodeIndex node);
  void store_signal(NodeIndex node, const SignalStep& signal);

  WorkloadRoles& roles_;
  Engine& engine_;
  const ClusterState& state_;
  std::vector<NodeLink> links_;
  std::vector<NodeIndex> downed_;   ///< nodes that were taken down and on which jobs may still run
  bool is_node_watch_cut_ = false;  ///< more nodes are to be given up than one turn could
  bool is_new_state_ = false;       ///< no job has ever been in it
  TimePoint start_time_;
  TimePoint last_tick_;
  TimePoint timeout_since_;  ///< nobody's silence from before it counts
};

}  // namespace muster

// The controller's one writer as its driver sees it: the engine with its modules. Each call but
// those that only ask belongs to a turn, which end_turn() closes; `now` is the cluster's time
// (engine/cluster_clock.h), which never jumps.
//
//   commands, agent messages, plans, time ──▶ Core ──▶ batch of events ──▶ journal
//                                                          │ durable
//                                         replies, agent messages, followers ◀─┘
// Single-threaded. This class puts parts together and decides nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/command.h"
#include "engine/core_start.h"
#include "engine/engine_port.h"
#include "journal/journal_port.h"
#include "model/agent_message.h"
#include "platform/http_endpoint.h"
#include "state/cluster_state.h"
#include "workload/nodes/node_link.h"
#include "workload/workload_options.h"
#include "workload/workload_port.h"

namespace muster {

struct PlanResult;

/// What the controller needs of the world.
class CorePort : public EnginePort, public WorkloadPort {};

class Core {
 public:
  using Options = WorkloadOptions;
  Core(Options options, JournalPort& journal, CorePort& port);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  /// Returns the state, which is restored before start().
  ClusterState& state() { return state_; }
  const ClusterState& state() const { return state_; }
  /// Begins to lead under `epoch` with the configuration that the file now says.
  void start(Epoch epoch, std::shared_ptr<const ClusterConfig> config, TimePoint now,
             const CoreStart& beginning = {});
  /// Sets where HTTP is served: the runs of trials get this address.
  void serve_http(HttpEndpoint endpoint);

  void on_command(Command command, TimePoint now);
  /// Calls NodeRole::on_register.
  Result<NodeIndex> on_register(const RegisterNode& hello, TimePoint now);
  /// Handles a node's message about what runs on it. False: it is about anything else, was logged
  /// and is not obeyed.
  bool on_agent(NodeIndex node, const FromAgent& message, TimePoint now);
  void on_agent_lost(NodeIndex node);
  /// Handles signals of which nobody knows whether they arrived: a connection of the node is over,
  /// perhaps not its last.
  void on_unheard(NodeIndex node, const std::vector<SignalStep>& signals);
  /// Handles a launch that the node's agent does not accept, and why.
  void on_refused(NodeIndex node, const LaunchStep& launch, const std::string& why);
  /// Called when the node's agent has received its part of the launch.
  void on_received(NodeIndex node, const StepId& step, TimePoint now);
  /// Handles a plan, in a turn of its own.
  void on_plan(const PlanResult& result, TimePoint now);
  void on_durable(Seq seq, TimePoint now);
  /// Handles a blob that CorePort::fetch_blob asked for. An error ends the launches that wait for
  /// it.
  void on_blob(BlobId id, Result<Bytes> bytes);
  /// Lets time pass: limits, warnings, leases, silence, eviction. Cheap when nothing is due; it is
  /// called at least every 250 ms.
  void on_tick(TimePoint now);
  /// True when something is left of what was asked for or has happened: on_work() and end_turn()
  /// are due, as soon as what has arrived meanwhile has had its turn.
  bool has_work() const;
  /// Does a bounded part of what is left.
  void on_work(TimePoint now);
  /// Closes the turn. Every other call must be followed by one before the caller waits.
  void end_turn(TimePoint now);

  /// True while no command should be handled yet; as NodeRole::awaits_nodes.
  bool awaits_nodes(TimePoint now);
  /// Returns how many timers of jobs there are: none is of jobs that are over (the simulator checks
  /// that in the end).
  std::size_t timer_count() const;
  /// Returns what a node gets in answer to its registration.
  ClusterIdentity identity() const;
  /// Refuses new work from now on (the disk is full); ends of jobs are still accepted.
  void refuse_new_work(std::optional<Error> why);
  const std::vector<NodeLink>& links() const;
  /// Called when history has all batches up to `seq` on stable storage: what ended in them may
  /// leave memory.
  void on_history(Seq seq);
  bool is_started() const;

 private:
  // What drives the core does not compile what it consists of.
  struct Parts;
  CorePort& port_;
  const std::unique_ptr<Parts> parts_;
  ClusterState& state_;
};

}  // namespace muster

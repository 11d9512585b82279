// The module of jobs, steps and nodes. It holds the roles, and passes the calls of a turn on to
// them: each event, timer and request to those that it concerns. What happens to a job from its
// submission to its end is decided in the roles (roles.h); requests are drafted by requests/.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/feasibility.h"
#include "engine/module.h"
#include "engine/run_policy.h"
#include "workload/dependency_role.h"
#include "workload/launch_role.h"
#include "workload/node_role.h"
#include "workload/roles.h"
#include "workload/run_role.h"
#include "workload/start_role.h"
#include "workload/sweep_role.h"
#include "workload/timer_role.h"
#include "workload/workload_port.h"

namespace muster {

/// Life cycle: constructed ──load()──▶ roles built from the restored state ──begin()──▶ in use. The
/// agents' messages, plans and blobs do not come through the engine: their receivers call the roles
/// below, within a turn. Thread: the core's alone.
class Workload final : public Module, public NodeSender {
 public:
  /// Holds references: engine, port and policy outlive it. `policy` is only stored: it may be
  /// constructed later.
  Workload(WorkloadOptions options, Engine& engine, WorkloadPort& port, RunPolicy& policy);
  ~Workload() override;

  /// Returns a role for what comes from outside the engine; valid as long as the workload.
  NodeRole& nodes() { return nodes_; }
  const NodeRole& nodes() const { return nodes_; }
  LaunchRole& launches() { return launches_; }
  StartRole& starts() { return starts_; }
  TimerRole& timers() { return timers_; }

  // ---- Module ----
  void load() override;
  void begin(const CoreStart& start) override;
  /// Accepts a step, and a request about many jobs, as a whole; such a request is answered later
  /// and is not atomic. Requires: the command has one request.
  bool accept(Command& command) override;
  Reply handle(Draft& draft, const PreparedRequest& request, const Identity& identity) override;
  void before_apply(const Draft& draft) override;
  void after_event(const Event& event) override;
  void on_timer(const Timer& timer, const Job& job) override;
  void on_tick() override;
  void before_end() override;
  bool settle() override;
  bool has_open_ends() const override;
  void before_flush(Seq seq) override;
  bool has_work() const override;
  void on_work() override;

  // ---- NodeSender: called by the engine for what is durable ----
  void deliver(NodeIndex node, const ToAgent& message) override;
  void launch(const StepId& step) override;

 private:
  struct Handler;
  struct Follower;

  const WorkloadOptions options_;
  Engine& engine_;
  const ClusterState& state_;
  Seq recovered_;  ///< the last batch before this start
  WorkloadRoles roles_;
  NodeRole nodes_{roles_};
  RunRole runs_{roles_};
  LaunchRole launches_{roles_};
  StartRole starts_{roles_};
  DependencyRole dependencies_{roles_};
  SweepRole sweeps_{roles_};
  TimerRole timers_{roles_};
};

}  // namespace muster

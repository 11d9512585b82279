// The module of jobs, steps and nodes: its roles, and what they are told of a turn. What happens to
// a job from its submission to its end is in the roles (roles.h); requests are drafted by
// requests/.
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

class Workload final : public Module, public NodeSender {
 public:
  Workload(WorkloadOptions options, Engine& engine, WorkloadPort& port, RunPolicy& policy);
  ~Workload() override;

  NodeRole& nodes() { return nodes_; }
  const NodeRole& nodes() const { return nodes_; }
  LaunchRole& launches() { return launches_; }
  StartRole& starts() { return starts_; }
  TimerRole& timers() { return timers_; }

  // ---- Module ----
  void load() override;
  void begin(const CoreStart& start) override;
  bool take(Command& command) override;
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

  // ---- NodeSender ----
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

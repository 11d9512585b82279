// One simulated machine: the production Agent and StepSupervisors over pretended processes and a
// spool that survives.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "agent/agent.h"
#include "sim/spool.h"
#include "sim/world.h"
#include "stepd/step_supervisor.h"

namespace muster::sim {

class Machine;

/// The processes of one node's part of a step, and their supervisor.
class Supervised final : public StepPort {
 public:
  /// `log`: where it writes its end.
  Supervised(Machine& node, LaunchStep launch, std::string log);
  void start_tasks();
  void on_message(const ToAgent& message);
  void tick();
  /// The supervisor alone is gone: its tasks run on.
  void orphan() { is_orphan_ = true; }
  bool is_orphan() const { return is_orphan_; }
  /// The supervisor stands still until then: it hears nothing, and what its tasks do it learns
  /// afterwards.
  void stop(TimePoint until) { stopped_until_ = until; }
  TimePoint stopped_until() const { return stopped_until_; }
  /// Ends every task without a report.
  void destroy(ExitStatus status);
  const StepId& id() const { return launch_.id; }
  const std::optional<FromAgent>& last_report() const { return last_report_; }
  std::uint64_t launch_key() const { return launch_.launch_key; }
  const std::string& log() const { return log_; }
  bool is_frozen() const { return is_frozen_; }
  bool is_over() const { return is_over_; }

  // ---- StepPort ----
  void signal(std::uint16_t number, bool batch_only) override;
  void kill_all() override;
  void suspend(bool is_suspend) override;
  void show_stop(StopCall) override {}
  void notice(const std::string& cause) override;
  void report(const FromAgent& message) override;

 private:
  struct Task {
    bool is_alive = true;
    bool ignores_term = false;
    ExitStatus exit;
    TimePoint end;  ///< when it ends by itself
    Duration left;  ///< while frozen
  };
  void arm(std::size_t task);
  void train();
  void end_task(std::size_t task, ExitStatus status);
  void hear_exit(std::size_t task, ExitStatus status);
  void end_when_over();

  Machine& node_;
  LaunchStep launch_;
  std::string log_;
  StepSupervisor logic_;
  std::vector<Task> tasks_;
  std::optional<FromAgent> last_report_;
  bool is_frozen_ = false;
  bool is_orphan_ = false;
  TimePoint stopped_until_;
  bool is_over_ = false;
  bool is_ticking_ = false;
};

class Machine final : public AgentWorld {
 public:
  /// `host`: which of all machines it is; strangers beside the nodes have numbers of their own.
  Machine(World& world, NodeIndex index, std::uint32_t host);

  World& world() { return world_; }
  NodeIndex index() const { return index_; }
  std::uint32_t host() const { return host_; }
  const LinkRef& link() const { return link_; }
  /// Since when the link has been usable; unset: it is not.
  TimePoint up_since() const { return up_since_; }
  const Supervised* find(const StepId& step) const;
  /// A step that the controller has not acknowledged, as an agent that started now would find it;
  /// nullopt: there is none.
  std::optional<StepId> unacknowledged();

  // ---- faults ----
  void crash_agent();
  /// The agent stands still: what it is sent meanwhile it reads afterwards, in order.
  void stop_agent(Duration how_long);
  void jump_clock();  ///< the wall clock; for good
  void lose_spool();
  void back_up_spool();
  void put_back_spool();  ///< the copy that was taken last; nothing happens without one
  /// For so long nothing can be started here.
  void fill_disk(Duration how_long);
  bool is_full() const;
  void crash_supervisor();
  void stop_supervisor();
  void crash();  ///< the whole machine; it boots again
  void cut_off(Duration how_long);
  void leave();  ///< the whole machine, for good

  // ---- from the network ----
  void on_controller(const LinkRef& link, const ToAgent& message);
  void on_link_broken(const LinkRef& link);

  // ---- from supervisors ----
  void on_report(Supervised& step, const FromAgent& message);
  bool is_alive(const Supervised* step) const;

  /// What this machine's steady clock says: it counts from a point of its own, anew at each boot.
  TimePoint steady_now() const;

  // ---- AgentWorld ----
  void send_controller(const FromAgent& message) override;
  Result<TimePoint> launch(const std::vector<LaunchStep>& steps) override;
  Status record(const LaunchStep& brief) override;
  void send_step(const StepId& step, const ToAgent& message) override;
  void forget(const StepId& step) override;
  std::optional<StepDone> find_end(const StepId& step) override;
  Leftovers leftovers() override;
  bool has_supervisor(const StepId& step) override;
  bool clean_up(const StepId& step) override;
  void end_supervisor(const StepId& step) override;
  Heartbeat measure() override { return {}; }
  Status probe() override;
  Status adopt_cluster(const ClusterIdentity& cluster, JobId job_floor,
                       bool has_lost_records) override;
  bool is_output_stored(const StepId&) override { return true; }
  void reconnect() override;

 private:
  /// Now, or when the agent goes on; never, should it end before.
  void when_agent_runs(Timeline::Action action);
  void start_agent();
  void end_agent();
  void dial();
  void redial(std::uint64_t generation);
  void hear(const LinkRef& link, const ToAgent& message);
  void tick();
  void orphan(const StepId& step);
  void spawn(const LaunchStep& step, const std::string& log, bool is_late);
  void link_step(const StepId& step);
  void remove(const StepId& step);
  void schedule_end();
  void excuse_spooled();
  Error refuse(const std::vector<LaunchStep>& steps);
  RegisterNode inventory() const;

  World& world_;
  NodeIndex index_;
  std::uint32_t host_;
  bool has_left_ = false;
  std::unique_ptr<Agent> agent_;
  std::uint64_t agent_generation_ = 0;
  bool is_agent_stopped_ = false;
  std::vector<Timeline::Action> unheard_;  ///< what happened to the agent while it stood still
  std::uint64_t boots_ = 1;
  TimePoint boot_time_;
  Duration wall_offset_;  ///< of this machine's wall clock from the true time
  LinkRef link_;
  TimePoint up_since_;
  TimePoint cut_until_;
  TimePoint full_until_;
  std::unique_ptr<NodeSpool> spool_;
  std::map<StepId, std::unique_ptr<Supervised>> steps_;
  std::set<StepId> linked_;
  std::set<StepId>
      lost_steps_;  ///< open when the spool was lost, since a copy of it was last put back
  bool is_end_scheduled_ = false;
};

}  // namespace muster::sim

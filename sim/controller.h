// One incarnation of the controller: the production roles, wired as apps/musterd wires them, on
// virtual time.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "controller/core.h"
#include "engine/cluster_clock.h"
#include "engine/journal/checkpoint_role.h"
#include "engine/journal/history_role.h"
#include "engine/recovery.h"
#include "gateway/query_replica.h"
#include "platform/search/search_role.h"
#include "sim/world.h"
#include "workload/planning/planner_role.h"

namespace muster::sim {

class Controller final : public CorePort, public JournalPort {
 public:
  /// Recovers from what the journal has, takes the lead and starts. Follows apps/musterd/main.cc.
  Controller(World& world, std::uint64_t incarnation);

  std::uint64_t incarnation() const { return incarnation_; }
  /// Nothing happens for so long; what comes meanwhile waits.
  void stop(Duration how_long);
  /// When it goes on; unset: it runs.
  TimePoint stopped_until() const { return stopped_until_; }
  /// The cluster's time.
  TimePoint now() const;
  const Core& core() const { return core_; }
  const QueryReplica& replica() const { return replica_; }
  const PlannerRole& planner() const { return planner_; }

  void command(Command command);
  /// The answer goes back to the agent over `link`.
  Result<NodeIndex> register_node(const LinkRef& link, const RegisterNode& hello);
  void agent_message(const LinkRef& link, const FromAgent& message);
  void agent_received(const LinkRef& link, const StepId& step);
  void agent_lost(const LinkRef& link);
  const LinkRef& link_of(NodeIndex node) const { return links_[node.value()]; }

  // ---- JournalPort, CorePort ----
  void append(EventBatchRef batch) override { world_.journal.send(std::move(batch)); }
  void reply(std::uint64_t token, std::vector<Reply> replies) override;
  void send(NodeIndex node, const ToAgent& message) override;
  void publish(DurableUpdate update) override;
  void plan_consumed(Seq until) override;
  void fetch_blob(BlobId id) override;
  void mail(Mail) override {}  // users read none here
  void warn(const std::string&) override {}
  void lead_beyond(Epoch epoch) override;
  Status reconfigure() override {
    return fail(ErrorCode::kUnimplemented, "the cluster stays as it was made");
  }

 private:
  /// Job ids up to the answer were given by a state that was lost.
  JobId recover_state(Epoch epoch, const HistoryMark& mark);
  void store_unprojected(Epoch epoch, const std::vector<HistoryRecord>& records);
  void start_core(Epoch epoch, JobId job_floor);
  ClockReading read_clocks() const;
  void on_blob(BlobId id, Result<std::string> bytes);
  void schedule_history();
  void run_history();
  /// Runs it at once, or when the controller goes on.
  void when_running(Timeline::Action action);
  void tick();
  void schedule_end();
  void schedule_work();
  void schedule_planner();
  void run_planner();
  void schedule_search();
  void run_search();
  /// Runs `action` later unless this incarnation is gone by then.
  void later(Duration delay, Timeline::Action action);

  World& world_;
  std::uint64_t incarnation_;
  Core core_;
  PlannerRole planner_;
  QueryReplica replica_{"sim", "0"};
  std::vector<LinkRef> links_;
  std::optional<ClusterClock> clock_;  ///< unset: not started
  TimePoint stopped_until_;
  std::deque<DurableUpdate> to_history_;
  bool is_history_scheduled_ = false;
  std::deque<EventBatchRef> to_planner_;
  std::deque<Seq> consumed_;
  SearchRole search_;
  std::deque<EventBatchRef> to_search_;
  bool is_search_scheduled_ = false;
  std::optional<CheckpointRole> checkpoints_;
  HistoryRole history_;
  bool is_end_scheduled_ = false;
  bool is_work_scheduled_ = false;
  bool is_planner_scheduled_ = false;
};

}  // namespace muster::sim

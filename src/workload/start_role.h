// Brings jobs from waiting to running: what the planner decided is committed, new jobs start in the
// turn that brings them where that delays nobody, and the first step is made.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/feasibility.h"
#include "sched/fast_path.h"
#include "sched/satisfiable.h"
#include "sched/snapshot/snapshot.h"
#include "workload/planning/plan_result.h"
#include "workload/planning/snapshot_feed.h"
#include "workload/roles.h"

namespace muster {

class StartRole final : public Feasibility {
 public:
  explicit StartRole(WorkloadRoles& roles);

  void load();
  void on_event(const Event& event);
  /// Brings what the snapshot says of jobs up to the state, before a request is judged by it.
  void compile();

  Status check_satisfiable(const JobSpec& spec,
                           const std::vector<PartitionIndex>& partitions) const override;
  /// Checks what was drafted from event `from` on, and refuses in `reply` an update that makes a
  /// waiting job impossible. A job that was impossible before may still be renamed.
  void check_changes(const Draft& draft, std::size_t from, Reply& reply) const;

  void on_plan(const PlanResult& result);
  /// Queues a job that is new, or about which something has changed: it may start in this turn.
  void queue_candidate(JobId job) { candidates_.push_back(job); }
  /// Called when nodes have room that they had not.
  void mark_freed() { has_freed_ = true; }
  /// Starts what this turn can. False: more is to be tried, in this turn.
  bool settle();
  /// Begins a turn, in which as many starts may be tried as fit into one.
  void begin_tries(std::size_t nodes) { tries_left_ = tries_per_turn(nodes); }
  bool has_starts_left() const;
  void before_flush(Seq seq);

 private:
  /// Returns how many starts a turn tries; what is left waits for the next. A try looks at every
  /// node, and needs up to some 50 ns for each.
  static std::size_t tries_per_turn(std::size_t nodes);
  TimePoint now() const { return engine_.now(); }
  void start_candidates();
  void start_successors();
  std::optional<JobId> first_of(const sched::Successor& successor,
                                std::span<const NodeIndex> freed) const;
  bool try_start(JobId job);
  bool commit(const sched::Start& start);
  bool commit_start(const sched::Start& start);
  void apply_rules_of(PartitionIndex partition, const Job& job);
  void create_first_step(const Job& job);
  Status check_change(const JobChanged& change) const;

  WorkloadRoles& roles_;
  Engine& engine_;
  const ClusterState& state_;
  sched::ClusterSnapshot snapshot_;
  SnapshotFeed feed_{snapshot_};
  mutable sched::SatisfiabilityMemo known_answers_;  ///< no part of what the role is
  std::shared_ptr<const sched::Plan> plan_;
  /// The snapshot's revision after each recent batch.
  std::deque<std::pair<Seq, std::uint64_t>> revisions_;
  std::vector<JobId> candidates_;  ///< submitted or unblocked in this turn
  bool has_freed_ = false;
  sched::FastMemo fast_memo_;
  std::size_t tries_left_ = 0;      ///< of starts, in this turn
  std::size_t next_successor_ = 0;  ///< of the plan's; those from it on are still to be tried
};

}  // namespace muster

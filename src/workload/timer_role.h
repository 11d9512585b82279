// What the passing of time does to jobs: limits, warnings, deadlines; and what leaves memory when
// its time is over.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <utility>

#include "engine/engine.h"
#include "workload/roles.h"

namespace muster {

class TimerRole {
 public:
  explicit TimerRole(WorkloadRoles& roles);

  /// Begins with a restored state: what is over in it, up to the batch `recovered`, leaves memory
  /// in its time.
  void begin(Seq recovered);
  /// Sets the timers that the job's present condition asks for. Timers that no longer hold are
  /// dropped when they fire.
  void arm(const Job& job);
  void fire(const Timer& timer, const Job& job);
  void on_step_ended(const StepId& step);
  /// Called when history has all batches up to `seq` on stable storage: what ended in them may
  /// leave memory.
  void on_history(Seq seq) { history_seq_ = seq; }
  /// Removes jobs and steps whose time in memory is over, a bounded number a turn.
  void evict();

 private:
  /// An ended job on its way out of memory.
  struct Eviction {
    TimePoint at;
    JobId job;
    Seq ended;  ///< with which it ended: history must have it
    friend constexpr auto operator<=>(const Eviction&, const Eviction&) = default;
  };
  TimePoint now() const { return engine_.now(); }
  void warn(const Job& job);
  void mail_time_share(const Job& job);
  void evict_some();
  void forget_steps();

  WorkloadRoles& roles_;
  Engine& engine_;
  const ClusterState& state_;
  Seq history_seq_;
  std::set<Eviction> evictions_;
  /// Steps that have ended, with the batch in which they did: history must have it before they
  /// leave their jobs' records.
  std::deque<std::pair<Seq, StepId>> ended_steps_;
  /// Ended steps that history has and the record still shows, in the order of their ends.
  std::map<JobId, std::deque<StepId>> retained_steps_;
};

}  // namespace muster

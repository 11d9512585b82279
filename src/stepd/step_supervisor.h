// Decides for one node's part of a step when it runs, how it is ended, and what is reported. The
// processes themselves are behind the port, so that the simulator runs this same class.
//
//   kStarting ──tasks started──▶ kRunning ──terminate or deadline──▶ kTerminating ──KillWait──▶
//   kKilling
//        └────────── start failed ──────┴────────── last task gone, nothing left
//        ───────────────────┴──▶ kEnded
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/agent_message.h"

namespace muster {

/// What the supervisor does to the world.
class StepPort {
 public:
  virtual ~StepPort() = default;
  /// Sends a signal to the tasks' processes: all of the step's, or with `batch_only` the batch
  /// script's alone.
  virtual void signal(std::uint16_t number, bool batch_only) = 0;
  /// Ends everything in the step's cgroup that is left, whatever it does to avoid it.
  virtual void kill_all() = 0;
  virtual void suspend(bool is_suspend) = 0;
  /// Shows the run that it is asked to stop: its stop file appears.
  virtual void show_stop(StopCall call) = 0;
  /// Writes a line to the job's own error stream: "*** JOB 12 ON n1 CANCELLED AT ... ***".
  virtual void notice(const std::string& cause) = 0;
  virtual void report(const FromAgent& message) = 0;
};

class StepSupervisor {
 public:
  /// `now`, here and below, is on the steady clock, by which limits and grace periods are counted.
  StepSupervisor(const LaunchStep& launch, StepPort& port, TimePoint now);

  /// Called when the tasks run, or when they could not be started, and `failure` says why: each
  /// then counts as ended with `failed_with`. Requires: not is_ended(), as after a start that was
  /// given up.
  void on_started(std::size_t task_count, const std::optional<Error>& failure, TimePoint now,
                  ExitStatus failed_with = ExitStatus::exited(1));
  void on_task_exit(std::size_t local_id, ExitStatus status, TimePoint now);
  /// Called after the last task has ended, when the cgroup holds no process any more; `usage`
  /// covers all of it.
  void on_empty(const Usage& usage, bool is_out_of_memory);
  void on_message(const ToAgent& message, TimePoint now);
  void on_tick(TimePoint now);

  /// True when all tasks have ended: what is left over should be ended too.
  bool is_tasks_over() const { return phase_ != Phase::kStarting && running_ == 0; }
  bool is_ended() const { return phase_ == Phase::kEnded; }
  /// True when somebody asked for the end, or a limit did: it is due, whoever still reads what the
  /// tasks wrote.
  bool is_ended_by_order() const { return is_ended_by_order_; }
  /// Returns when on_tick is next needed; never: not before something happens; unset: at once, and
  /// again after that.
  TimePoint next_tick() const;

 private:
  enum class Phase { kStarting, kRunning, kTerminating, kKilling, kEnded };
  void give_up_start();
  void suspend(bool is_suspend, TimePoint now);
  void ask_to_stop(const StopStep& order);
  void terminate(const std::string& cause, Duration kill_wait, TimePoint now);

  StepId id_;
  std::uint64_t launch_key_ = 0;
  std::uint32_t node_rank_;
  StepPort& port_;
  Phase phase_ = Phase::kStarting;
  bool is_ended_by_order_ = false;
  std::vector<ExitStatus> statuses_;
  std::size_t running_ = 0;
  TimePoint kill_time_ = TimePoint::never();
  TimePoint deadline_;  ///< a minute past the job's end: for when nobody reaches us
  Duration kill_wait_;
  Duration own_limit_;  ///< `srun --time` inside an allocation; zero: the job's limit is enough
  std::uint16_t warning_signal_ = 0;  ///< `srun --signal`, so long before the own limit's end
  Duration warning_lead_;
  TimePoint own_end_ = TimePoint::never();
  TimePoint warning_time_ = TimePoint::never();
  TimePoint suspend_time_;
  bool is_timeout_ = false;
  std::optional<TerminateJob> early_;  ///< asked for before the tasks were started
  bool is_suspended_ = false;
  std::optional<StopStep> stop_;  ///< as first asked for
};

}  // namespace muster

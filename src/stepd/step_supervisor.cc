// kStarting ──on_started──▶ kRunning ──order, limit──▶ kTerminating ──kill_wait──▶ kKilling; each
// but the first leads to kEnded when nothing of the step is left (on_empty), and kStarting does so
// by a failure or by give_up_start. No clock, process or file is touched here: that is StepPort's.
#include "stepd/step_supervisor.h"

#include <algorithm>
#include <csignal>

namespace muster {
namespace {

/// The controller enforces the job's limit. A node ends a job's step by itself only so much later:
/// then nobody has reached it.
constexpr Duration kDeadlineGrace = Duration::seconds(60);

}  // namespace

StepSupervisor::StepSupervisor(const LaunchStep& launch, StepPort& port, TimePoint now)
    : id_(launch.id),
      launch_key_(launch.launch_key),
      node_rank_(launch.node_rank),
      port_(port),
      // Only a backstop: the controller's own order comes earlier where it can.
      deadline_(now + launch.time_left + kDeadlineGrace),
      kill_wait_(launch.kill_wait) {
  // The limit of an `srun` that made its own allocation is the job's, which the controller
  // enforces.
  if (launch.step == nullptr || launch.job == nullptr || launch.job->kind == JobKind::kRun) return;
  own_limit_ = launch.step->time_limit;
  warning_signal_ = launch.step->signal_number;
  warning_lead_ = Duration::seconds(launch.step->signal_seconds);
}

void StepSupervisor::on_started(std::size_t task_count, const std::optional<Error>& failure,
                                TimePoint now, ExitStatus failed_with) {
  if (failure) {
    phase_ = Phase::kEnded;
    StepDone done;
    done.id = id_;
    done.launch_key = launch_key_;
    done.node_rank = node_rank_;
    done.error = failure->text();
    // What the node lacks (disk_error) is its own fault, and what may come back ends by itself. Any
    // other failure is the job's.
    done.may_pass = failure->code == ErrorCode::kResourceExhausted;
    done.is_node_fault = done.may_pass || failure->code == ErrorCode::kUnavailable;
    done.tasks.assign(std::max<std::size_t>(1, task_count), failed_with);
    port_.report(done);
    return;
  }
  phase_ = Phase::kRunning;
  statuses_.resize(task_count);
  running_ = task_count;
  if (own_limit_ != Duration() && !own_limit_.is_infinite()) {
    own_end_ = now + own_limit_;
    // As --signal of srun asks: so long before the end, at once where the limit is shorter.
    if (warning_signal_ != 0) warning_time_ = std::max(now, own_end_ - warning_lead_);
  }
  port_.report(StepRunning{id_, launch_key_});
  // These orders came before there were tasks.
  if (is_suspended_) port_.suspend(true);
  if (stop_) ask_to_stop(*stop_);
  if (early_) terminate(early_->cause, early_->kill_wait, now);
}

void StepSupervisor::on_task_exit(std::size_t local_id, ExitStatus status, TimePoint) {
  if (local_id >= statuses_.size() || running_ == 0) return;
  statuses_[local_id] = status;
  --running_;
}

void StepSupervisor::on_empty(const Usage& usage, bool is_out_of_memory) {
  // Until the last task's exit is known, an empty cgroup means nothing.
  if (phase_ == Phase::kEnded || running_ > 0) return;
  phase_ = Phase::kEnded;
  StepDone done;
  done.id = id_;
  done.launch_key = launch_key_;
  done.node_rank = node_rank_;
  done.tasks = statuses_;
  done.usage = usage;
  done.is_out_of_memory = is_out_of_memory;
  done.is_timeout = is_timeout_;
  port_.report(done);
}

/// SIGCONT first, so that a stopped process can act on the SIGTERM that follows.
void StepSupervisor::terminate(const std::string& cause, Duration kill_wait, TimePoint now) {
  // Before there are tasks there is nothing to signal: the earliest order is kept (early_).
  if (phase_ == Phase::kStarting) {
    if (!early_ || kill_wait < early_->kill_wait)
      kill_time_ = std::min(kill_time_, now + kill_wait);
    early_ = TerminateJob{id_.job, id_.attempt, cause, kill_wait};
    return;
  }
  // Killed already, or over.
  if (phase_ == Phase::kKilling || phase_ == Phase::kEnded) return;
  is_ended_by_order_ = true;
  // Frozen processes act on no signal.
  if (is_suspended_) port_.suspend(false);
  is_suspended_ = false;
  if (phase_ == Phase::kRunning && !cause.empty()) port_.notice(cause);
  // No time to save anything.
  if (kill_wait == Duration()) {
    phase_ = Phase::kKilling;
    port_.kill_all();
    return;
  }
  // A second order does not start the grace anew.
  if (phase_ == Phase::kTerminating) return;
  phase_ = Phase::kTerminating;
  port_.signal(SIGCONT, false);
  port_.signal(SIGTERM, false);
  kill_time_ = now + kill_wait;
}

void StepSupervisor::on_message(const ToAgent& message, TimePoint now) {
  if (const auto* terminate_job = get_if<TerminateJob>(&message)) {
    if (terminate_job->job == id_.job && terminate_job->attempt == id_.attempt) {
      terminate(terminate_job->cause, terminate_job->kill_wait, now);
    }
  } else if (const auto* signal = get_if<SignalStep>(&message)) {
    if (!(signal->id == id_)) return;
    // SIGKILL to the step ends it, with everything that it left running.
    if (signal->signal == SIGKILL && !signal->batch_only) {
      terminate("DUE to SIGNAL Killed", Duration(), now);
    } else if (phase_ != Phase::kStarting) {
      port_.signal(signal->signal, signal->batch_only);
    }
  } else if (const auto* stop = get_if<StopStep>(&message)) {
    // A cancel replaces an earlier, milder request.
    const bool is_news =
        !stop_ || (stop->call == StopCall::kCancel && stop_->call != StopCall::kCancel);
    if (!(stop->id == id_) || !is_news) return;
    stop_ = *stop;
    if (phase_ == Phase::kRunning) ask_to_stop(*stop);
  } else if (const auto* order = get_if<SuspendJob>(&message)) {
    if (order->job == id_.job && order->attempt == id_.attempt) suspend(order->is_suspend, now);
  } else if (const auto* change = get_if<ChangeEnd>(&message);
             change != nullptr && change->job == id_.job && change->attempt == id_.attempt) {
    // By the time that is left: the end is on the controller's clock, which this node does not
    // share.
    deadline_ = now + change->time_left + kDeadlineGrace;
  }
}

/// Once, and once more when it is cancelled: a repeat after a lost connection must not interrupt
/// what saves its checkpoint.
void StepSupervisor::ask_to_stop(const StopStep& order) {
  port_.show_stop(order.call);
  if (order.signal != 0) port_.signal(order.signal, false);
}

/// Suspension stops the step's own clock. A run that is being ended is not stopped half-way: frozen
/// processes do not die.
void StepSupervisor::suspend(bool is_suspend, TimePoint now) {
  if (phase_ != Phase::kStarting && phase_ != Phase::kRunning) return;
  if (is_suspend && !is_suspended_) suspend_time_ = now;
  if (!is_suspend && is_suspended_) {
    own_end_ = own_end_ + (now - suspend_time_);
    warning_time_ = warning_time_ + (now - suspend_time_);
  }
  is_suspended_ = is_suspend;
  if (phase_ == Phase::kRunning) port_.suspend(is_suspended_);
}

TimePoint StepSupervisor::next_tick() const {
  if (phase_ == Phase::kTerminating || (phase_ == Phase::kStarting && early_)) return kill_time_;
  // At once and again: processes may be born while they are killed.
  if (phase_ == Phase::kKilling) return TimePoint::unset();
  // A suspended step's own limits stand still.
  if (phase_ == Phase::kEnded || is_suspended_) return TimePoint::never();
  return std::min({deadline_, own_end_, warning_time_});
}

/// Told to end, or out of time, before anybody let the tasks start: there is nothing to end.
void StepSupervisor::give_up_start() {
  phase_ = Phase::kEnded;
  StepDone done;
  done.id = id_;
  done.launch_key = launch_key_;
  done.node_rank = node_rank_;
  done.tasks = {ExitStatus::signalled(SIGKILL)};
  port_.report(done);
}

void StepSupervisor::on_tick(TimePoint now) {
  if (phase_ == Phase::kStarting) {
    if (now >= (early_ ? kill_time_ : deadline_)) give_up_start();
  } else if (phase_ == Phase::kTerminating && now >= kill_time_) {
    phase_ = Phase::kKilling;
    port_.kill_all();
  } else if (phase_ == Phase::kKilling) {
    port_.kill_all();  // what was being born while we killed
  } else if (phase_ == Phase::kRunning && !is_suspended_) {
    if (now >= warning_time_) {
      warning_time_ = TimePoint::never();
      port_.signal(warning_signal_, false);
    }
    // Its own limit, not the backstop, makes it a timeout.
    is_timeout_ = now >= own_end_;
    if (now >= std::min(deadline_, own_end_)) terminate("DUE TO TIME LIMIT", kill_wait_, now);
  }
}

}  // namespace muster

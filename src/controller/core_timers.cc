// What the passing of time does: limits, warnings, leases, deadlines, eviction.
#include <algorithm>

#include "controller/backend/trial_rules.h"
#include "controller/core.h"

namespace muster {

Duration Core::over_time_limit(const Job& job) const {
  const Duration of_partition = state_.partition(job.partition).over_time_limit;
  return of_partition < Duration() ? state_.settings().over_time_limit : of_partition;
}

namespace {

/// After this a job cannot end before its deadline. Requires: it has one. Source: sbatch(1), --deadline.
TimePoint latest_start(const Job& job) {
  const Duration least = job.spec->time_min != Duration() ? job.spec->time_min : job.time_limit;
  return least.is_infinite() ? job.spec->deadline : job.spec->deadline - least;
}

}  // namespace

/// Sets the timers that the job's present condition asks for. Timers that no longer hold are dropped when they fire.
void Core::arm(const Job& job) {
  if (job.is_over()) {
    timers_.insert(Timer{job.end_time + state_.settings().min_job_age, job.id, job.attempt, TimerKind::kEvict});
    return;
  }
  arm_budget(job);
  if (job.is_pending()) {
    if (job.spec->deadline.is_set()) timers_.insert(Timer{latest_start(job), job.id, job.attempt, TimerKind::kDeadline});
    if (job.eligible_time.is_set()) timers_.insert(Timer{job.eligible_time, job.id, job.attempt, TimerKind::kEligible});
    return;
  }
  if (job.run != nullptr && job.run->stop) timers_.insert(Timer{job.run->stop->deadline, job.id, job.attempt, TimerKind::kStop});
  if (job.state != JobState::kRunning || !job.end_time.is_set()) return;
  timers_.insert(Timer{job.end_time + over_time_limit(job), job.id, job.attempt, TimerKind::kLimit});
  if (const Trial* trial = trial_of(state_, job)) {
    timers_.insert(Timer{stop_before_limit_at(state_, job, *trial), job.id, job.attempt, TimerKind::kTrialLimit});
  }
  for (const int percent : mailed_time_shares(*job.spec)) {
    const Duration left = job.time_limit * (100 - percent) / 100;
    timers_.insert(Timer{std::max(job.end_time - left, job.start_time), job.id, job.attempt, TimerKind::kTimeShare});
  }
  if (job.spec->signal_number != 0 && (job.flags & job_flag::kWarned) == 0) {
    const TimePoint at = job.end_time - Duration::seconds(job.spec->signal_seconds);
    timers_.insert(Timer{std::max(at, job.start_time), job.id, job.attempt, TimerKind::kWarning});
  }
}

void Core::on_tick(TimePoint now) {
  if (!is_started_) return;
  watch_nodes(now);
  while (!timers_.empty() && timers_.begin()->at <= now) {
    const Timer timer = *timers_.begin();
    timers_.erase(timers_.begin());
    fire(timer, now);
  }
}

void Core::fire(const Timer& timer, TimePoint now) {
  const Job* job = state_.jobs().find(timer.job);
  if (job == nullptr) return;
  const bool is_running = job->state == JobState::kRunning && job->attempt == timer.attempt;
  switch (timer.kind) {
    case TimerKind::kLimit:
      if (is_running && job->end_time.is_set() && job->end_time + over_time_limit(*job) <= now) {
        end_job(job->id, JobState::kTimeout, "", now);
      }
      break;
    case TimerKind::kWarning:
      if (is_running && (job->flags & job_flag::kWarned) == 0 && job->end_time.is_set() &&
          job->end_time - Duration::seconds(job->spec->signal_seconds) <= now) {
        warn(*job, now);
      }
      break;
    case TimerKind::kTimeShare:
      if (is_running) mail_time_share(*job, now);
      break;
    case TimerKind::kStop:
      if (job->attempt == timer.attempt && job->run != nullptr && job->run->stop && job->run->stop->deadline <= now &&
          !is_finished(job->state)) {
        end_stopped(*job, now);
      }
      break;
    case TimerKind::kTrialLimit:
      if (const Trial* trial = trial_of(state_, *job); is_running && trial != nullptr) stop_before_limit(*job, *trial, now);
      break;
    case TimerKind::kBudget:
      enforce_budget(*job, now);
      break;
    case TimerKind::kEvict:
      evict(timer.job, now);
      break;
    case TimerKind::kDeadline:
      if (job->is_pending() && latest_start(*job) <= now) {
        end_job(job->id, JobState::kDeadline, "it can no longer end before its deadline", now);
      }
      break;
    case TimerKind::kEligible:
      if (job->is_pending()) candidates_.push_back(job->id);
      break;
    case TimerKind::kLease:
      if (const auto lease = leases_.find(timer.job); lease != leases_.end()) {
        if (lease->second > now) {
          timers_.insert(Timer{lease->second, timer.job, 0, TimerKind::kLease});
        } else if (!job->is_over() && !is_finished(job->state)) {
          end_job(timer.job, JobState::kCancelled, "its client has gone away", now);
        }
      }
      break;
  }
}

/// Once in a run, whatever becomes of the job's limit later and however often the controller starts.
void Core::warn(const Job& job, TimePoint now) {
  for (const StepState& step : job.run->steps) {
    if (!step.is_running()) continue;
    const bool is_batch = step.id.step == kBatchStep;
    if (is_batch != job.spec->signal_batch_only) continue;
    for (const NodeGrant& grant : step.layout->nodes) {
      send_when_durable(grant.node, SignalStep{step.id, job.spec->signal_number, is_batch});
    }
  }
  JobChanged change;
  change.job = job.id;
  change.is_warned = true;
  emit(std::move(change), now);
}

/// The limit may have been moved since the timer was set: the share is taken anew.
void Core::mail_time_share(const Job& job, TimePoint now) {
  if (!job.end_time.is_set() || job.time_limit <= Duration()) return;
  const Duration used = job.time_limit - (job.end_time - now);
  const auto percent = static_cast<int>(used.microseconds() * 100 / job.time_limit.microseconds());
  const std::vector<int> shares = mailed_time_shares(*job.spec);
  const auto reached = std::ranges::find_if(shares, [&](int share) { return percent >= share && percent < share + 5; });
  if (reached != shares.end()) mail_when_durable(mail_about_time(job, *reached, now));
}

void Core::evict(JobId id, TimePoint now) {
  const Job& job = *state_.jobs().find(id);
  const TimePoint due = job.end_time + state_.settings().min_job_age;
  if (!job.is_over() || due > now) {
    if (job.is_over()) timers_.insert(Timer{due, id, job.attempt, TimerKind::kEvict});
    return;
  }
  // An array's record stands for its elements as long as one of them is there.
  const auto* elements = job.array != nullptr ? state_.jobs().elements(id) : nullptr;
  if (elements != nullptr && (elements->size() > 1 || elements->begin()->second != id)) {
    timers_.insert(Timer{now + Duration::seconds(10), id, job.attempt, TimerKind::kEvict});
    return;
  }
  if (history_seq_ < state_.seq() && !undurable_.empty() && history_seq_.value() + 1000 < state_.seq().value()) {
    timers_.insert(Timer{now + Duration::seconds(1), id, job.attempt, TimerKind::kEvict});
    return;
  }
  emit(JobsEvicted{{id}}, now);
}

}  // namespace muster

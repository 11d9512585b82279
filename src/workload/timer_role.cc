// A change of a job only adds timers (arm); whether one still holds is judged when it fires. So a
// limit that moves needs no search, and the job's timers go together with its run. What leaves
// memory waits for history: ended jobs by MinJobAge, steps of jobs that have many.
#include "workload/timer_role.h"

#include <algorithm>

#include "base/check.h"
#include "workload/dependency_role.h"
#include "workload/mail/mail.h"
#include "workload/node_role.h"
#include "workload/run_role.h"
#include "workload/start_role.h"

namespace muster {
namespace {

/// What one turn does at most: what is left waits for the next.
constexpr std::size_t kEvictionsPerTurn = 1000;
constexpr std::size_t kForgottenPerTurn = 1000;
/// Ended steps that a job's record keeps: whoever has just ended one can still ask for it.
constexpr std::size_t kStepsRetained = 64;
/// How long something that cannot be judged yet is put off.
constexpr Duration kPutOff = Duration::milliseconds(500);

/// After this a job cannot end before its deadline. Requires: it has one. Source: sbatch(1),
/// --deadline.
TimePoint latest_start(const Job& job) {
  const Duration least = job.spec->time_min != Duration() ? job.spec->time_min : job.time_limit;
  return least.is_infinite() ? job.spec->deadline : job.spec->deadline - least;
}

}  // namespace

TimerRole::TimerRole(WorkloadRoles& roles)
    : roles_(roles), engine_(roles.engine), state_(roles.engine.state()) {}

/// History has what ended before this start; it hears of the start itself only with the next end.
void TimerRole::begin(Seq recovered) {
  state_.jobs().for_each([&](const Job& job) {
    if (job.is_over()) {
      evictions_.insert({job.end_time + state_.settings().min_job_age, job.id, recovered});
    } else {
      arm(job);
    }
    if (job.run == nullptr) return;
    for (const StepState& step : job.run->steps) {
      if (!step.is_running()) ended_steps_.push_back({state_.seq(), step.id});
    }
  });
}

void TimerRole::on_step_ended(const StepId& step) {
  ended_steps_.push_back({engine_.applying(), step});
}

void TimerRole::evict() {
  evict_some();
  forget_steps();
}

void TimerRole::arm(const Job& job) {
  if (job.is_over()) {
    engine_.timers().drop(job.id);
    evictions_.insert({job.end_time + state_.settings().min_job_age, job.id, engine_.due()});
    return;
  }
  if (job.is_pending()) {
    if (job.spec->deadline.is_set())
      engine_.timers().set(Timer{latest_start(job), job.id, job.attempt, TimerKind::kDeadline});
    if (job.eligible_time.is_set())
      engine_.timers().set(Timer{job.eligible_time, job.id, job.attempt, TimerKind::kEligible});
    return;
  }
  if (job.run != nullptr && job.run->stop)
    engine_.timers().set(Timer{job.run->stop->deadline, job.id, job.attempt, TimerKind::kStop});
  if (job.state != JobState::kRunning || !job.end_time.is_set()) return;
  // With the grace of OverTimeLimit, as end_of() gives it to the nodes.
  engine_.timers().set(Timer{job.end_time + roles_.runs->over_time_limit(job), job.id, job.attempt,
                             TimerKind::kLimit});
  for (const int percent : mailed_time_shares(*job.spec)) {
    const Duration left = job.time_limit * (100 - percent) / 100;
    engine_.timers().set(Timer{std::max(job.end_time - left, job.start_time), job.id, job.attempt,
                               TimerKind::kTimeShare});
  }
  if (job.spec->signal_number != 0 && (job.flags & job_flag::kWarned) == 0) {
    const TimePoint at = job.end_time - Duration::seconds(job.spec->signal_seconds);
    engine_.timers().set(
        Timer{std::max(at, job.start_time), job.id, job.attempt, TimerKind::kWarning});
  }
}

void TimerRole::fire(const Timer& timer, const Job& fired) {
  // A timer is not removed when what it was set for moves: each case looks at the job anew.
  const Job* job = &fired;
  const bool is_running = job->state == JobState::kRunning && job->attempt == timer.attempt;
  switch (timer.kind) {
    case TimerKind::kLimit:
      if (!is_running || !job->end_time.is_set() ||
          job->end_time + roles_.runs->over_time_limit(*job) > now())
        break;
      if (!roles_.nodes->may_judge(*job)) {
        engine_.timers().set(Timer{now() + kPutOff, timer.job, timer.attempt, timer.kind});
      } else {
        roles_.runs->end_job(job->id, JobState::kTimeout, "");
      }
      break;
    case TimerKind::kWarning:
      if (is_running && (job->flags & job_flag::kWarned) == 0 && job->end_time.is_set() &&
          job->end_time - Duration::seconds(job->spec->signal_seconds) <= now()) {
        warn(*job);
      }
      break;
    case TimerKind::kTimeShare:
      if (is_running) mail_time_share(*job);
      break;
    case TimerKind::kStop:
      if (job->attempt == timer.attempt && job->run != nullptr && job->run->stop &&
          job->run->stop->deadline <= now() && !is_finished(job->state)) {
        if (roles_.nodes->may_judge(*job)) {
          roles_.runs->end_stopped(*job);
        } else {
          engine_.timers().set(Timer{now() + kPutOff, timer.job, timer.attempt, timer.kind});
        }
      }
      break;
    case TimerKind::kDeadline:
      if (job->is_pending() && latest_start(*job) <= now()) {
        roles_.runs->end_job(job->id, JobState::kDeadline,
                             "it can no longer end before its deadline");
      }
      break;
    case TimerKind::kEligible:
      if (job->is_pending()) roles_.starts->queue_candidate(job->id);
      break;
    case TimerKind::kLease: roles_.runs->on_lease_over(*job); break;
    case TimerKind::kTrialLimit:
    case TimerKind::kBudget: CHECK(false, "a timer of experiments fires for a job alone");
  }
}

/// Once in a run, whatever becomes of the job's limit later and however often the controller
/// starts.
void TimerRole::warn(const Job& job) {
  for (const StepState& step : job.run->steps) {
    if (!step.is_running()) continue;
    const bool is_batch = step.id.step == kBatchStep;
    // Source: sbatch(1), --signal: with "B:" the batch shell alone, without it the steps but not
    // the shell.
    if (is_batch != job.spec->signal_batch_only) continue;
    for (const NodeGrant& grant : step.layout->nodes) {
      engine_.send(grant.node, SignalStep{step.id, job.spec->signal_number, is_batch,
                                          job.run->launch_key_of(step)});
    }
  }
  JobChanged change;
  change.job = job.id;
  change.is_warned = true;
  engine_.emit(std::move(change));
}

/// The limit may have been moved since the timer was set: the share is taken anew.
void TimerRole::mail_time_share(const Job& job) {
  if (!job.end_time.is_set() || job.time_limit <= Duration()) return;
  const Duration used = job.time_limit - (job.end_time - now());
  const auto percent = static_cast<int>(used.microseconds() * 100 / job.time_limit.microseconds());
  const std::vector<int> shares = mailed_time_shares(*job.spec);
  const auto reached = std::ranges::find_if(
      shares, [&](int share) { return percent >= share && percent < share + 5; });
  if (reached != shares.end()) engine_.mail(mail_about_time(job, *reached, now()));
}

/// Jobs whose time in memory is over, once history has them on stable storage: one event for all of
/// a turn.
void TimerRole::evict_some() {
  // Who waits for one that has ended is told how it did before that is forgotten.
  if (roles_.dependencies->has_affected()) return;
  JobsEvicted evicted;
  std::set<JobId> going;  // a job may stand here more than once
  std::vector<Eviction> again;
  // What is put off counts, too: history may be far behind.
  std::size_t looked = 0;
  for (auto next = evictions_.begin();
       next != evictions_.end() && next->at <= now() && looked < kEvictionsPerTurn; ++looked) {
    const Eviction eviction = *next;
    next = evictions_.erase(next);
    const Job* job = state_.jobs().find(eviction.job);
    if (job == nullptr || !job->is_over() || going.contains(job->id)) continue;
    // An array's record stands for its elements as long as one of them is there.
    const auto* elements = job->array != nullptr ? state_.jobs().elements(job->id) : nullptr;
    const bool is_needed =
        elements != nullptr && (elements->size() > 1 || elements->begin()->second != job->id);
    const TimePoint due = job->end_time + state_.settings().min_job_age;
    // It has run again since this entry was made.
    if (due > now()) {
      again.push_back({due, eviction.job, eviction.ended});
    } else if (is_needed) {
      again.push_back({now() + Duration::seconds(10), eviction.job, eviction.ended});
    } else if (eviction.ended > history_seq_) {
      again.push_back({now() + Duration::seconds(1), eviction.job, eviction.ended});
    } else {
      evicted.jobs.push_back(eviction.job);
      retained_steps_.erase(eviction.job);
      going.insert(eviction.job);
    }
  }
  evictions_.insert(again.begin(), again.end());
  if (!evicted.jobs.empty()) engine_.emit(std::move(evicted));
}

/// A job of very many steps keeps the last of them: history has the others.
void TimerRole::forget_steps() {
  std::map<JobId, StepsForgotten> forgotten;
  for (std::size_t looked = 0; looked < kForgottenPerTurn && !ended_steps_.empty() &&
                               ended_steps_.front().first <= history_seq_;
       ++looked) {
    const StepId step = ended_steps_.front().second;
    ended_steps_.pop_front();
    const Job* job = state_.jobs().find(step.job);
    if (job == nullptr || job->run == nullptr || job->attempt != step.attempt) {
      retained_steps_.erase(step.job);
      continue;
    }
    std::deque<StepId>& kept = retained_steps_[step.job];
    if (!kept.empty() && kept.front().attempt != step.attempt) kept.clear();
    kept.push_back(step);
    if (kept.size() <= kStepsRetained) continue;
    forgotten[step.job].steps.push_back(kept.front().step);
    kept.pop_front();
  }
  for (auto& [job, event] : forgotten) {
    if (event.steps.empty()) continue;
    event.job = job;
    std::ranges::sort(event.steps);
    engine_.emit(std::move(event));
  }
}

}  // namespace muster

// The order of the checks in decide_run_end is that of Determined: what the experiment is at, what
// the search wants, what the run was asked, and only then how the script ended.
#include "platform/rules/trial_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "platform/rules/log_rules.h"

namespace muster {
namespace {

void set_state(JobEnding& ending, JobState state) {
  ending.state = state;
  // What counts as completed shows no failure: how its script took the order is its step's to say.
  if (state == JobState::kCompleted) ending.exit = ExitStatus();
}

void end_for_good(JobEnding& ending, JobState state) {
  set_state(ending, state);
  ending.reason = PendingReason::kNone;
  ending.requeue_after = false;
  ending.hold_after = 0;
}

void go_back(JobEnding& ending, JobState state, std::uint16_t hold) {
  set_state(ending, state);
  ending.requeue_after = true;
  ending.hold_after = hold;
}

/// A run that was asked to stop has stopped, whatever its exit says.
void decide_stopped_end(const ClusterState& state, const Trial& trial, StopCall call,
                        JobEnding& ending) {
  switch (call) {
    case StopCall::kCancel: return end_for_good(ending, JobState::kCancelled);
    case StopCall::kSearch: return end_for_good(ending, JobState::kCompleted);
    case StopCall::kRung: return go_back(ending, JobState::kCompleted, trial_hold(state, trial));
    // trial_hold keeps a paused trial back; a preempted one may start again.
    case StopCall::kPause:
    case StopCall::kPreempt: return go_back(ending, JobState::kPreempted, trial_hold(state, trial));
  }
}

/// A script has ended in good order while its search waits for a report at the trial's target: the
/// search has taken the trial further while the run was ending, or the script stopped short. It
/// runs again, unless it did so before and got no further.
void decide_early_end(const ClusterState& state, const Trial& trial, const ExperimentSpec& spec,
                      JobEnding& ending) {
  // Progress since the last early end.
  if (!trial.ended_early_at || trial.units > *trial.ended_early_at) {
    go_back(ending, JobState::kCompleted, trial_hold(state, trial));
    ending.is_early = true;
    return;
  }
  end_for_good(ending, JobState::kFailed);
  ending.detail = fmt::format(
      "its script ended twice with exit code 0 at {:.6g} of {} without progress: it has to train "
      "on to "
      "the target of its run and report {} there",
      trial.units, *trial.target, spec.metric);
}

/// A run with a session that ends by itself without having acknowledged the request has not stopped
/// because of it.
bool answers_stop(const JobRun& run, const JobEnding& ending) {
  const bool ended_itself =
      ending.state == JobState::kCompleted || ending.state == JobState::kFailed;
  // Ended from outside (a limit, a node): a stop is as good an explanation as any.
  return !run.has_session || run.is_stop_acknowledged || !ended_itself;
}

}  // namespace

void decide_run_end(const ClusterState& state, const Job& job, bool is_own_fault,
                    JobEnding& ending) {
  const Trial* trial = trial_of(state, job);
  if (trial == nullptr) return;
  const Experiment& experiment = *state.experiments().find(trial->experiment);
  // An experiment that ends takes nothing back into the queue.
  if (!is_searching(experiment.state) && ending.state != JobState::kCompleted)
    return end_for_good(ending, JobState::kCancelled);
  // The search has had what it wanted of the trial: how its last run ended changes nothing.
  if (trial->stop) return end_for_good(ending, JobState::kCompleted);
  if (trial->is_invalid) return end_for_good(ending, JobState::kCompleted);
  if (job.run != nullptr && job.run->stop && answers_stop(*job.run, ending))
    return decide_stopped_end(state, *trial, job.run->stop->call, ending);
  if (!is_searching(experiment.state)) return;  // there is nothing more that it could wait for
  if (trial->is_waiting) return go_back(ending, JobState::kCompleted, trial_hold(state, *trial));
  if (ending.state == JobState::kCompleted && trial->target)
    return decide_early_end(state, *trial, *experiment.spec, ending);
  if (ending.state == JobState::kCompleted || ending.state == JobState::kCancelled) return;
  // A node's fault is not counted among the trial's restarts.
  if (!is_own_fault) return go_back(ending, ending.state, trial_hold(state, *trial));
  if (std::string refusal = retry_refusal(*trial, run_number(job)); !refusal.empty()) {
    ending.detail = std::move(refusal);
    ending.requeue_after = false;
    ending.hold_after = 0;
    return;
  }
  ending.requeue_after = trial->restarts < experiment.spec->max_restarts;
  ending.is_restart = ending.requeue_after;
  ending.hold_after = ending.requeue_after ? trial_hold(state, *trial) : std::uint16_t{0};
}

TrialEnded trial_end(const ClusterState& state, const Job& job, const Trial& trial) {
  CHECK(job.is_over(), "job {} is not over", job.id.value());
  const Experiment& experiment = *state.experiments().find(trial.experiment);
  TrialEnded ended;
  ended.trial = trial.id;
  if (trial.is_invalid) {
    ended.exit = TrialExit::kInvalidHparams;
    ended.detail = "it finds its hyperparameters invalid";
    // By its own word first, whatever the job's state.
  } else if (job.state == JobState::kCancelled) {
    ended.state = TrialState::kCanceled;
    ended.exit = TrialExit::kCanceled;
  } else if (job.state != JobState::kCompleted) {
    ended.state = TrialState::kError;
    ended.exit = TrialExit::kErrored;
    ended.detail =
        job.detail != nullptr ? *job.detail
        : job.exit.signal() != 0
            ? fmt::format("ended by signal {}", job.exit.signal())
            : fmt::format("{} with exit code {}", job_state_name(job.state), job.exit.code());
    // It ended by itself with code 0: it was not restarted for failing.
    const bool is_early = job.state == JobState::kFailed && job.exit.is_success();
    if (experiment.spec->max_restarts > 0 && !is_early)
      ended.detail += fmt::format(", after {} restarts", trial.restarts);
  }
  return ended;
}

std::vector<std::string> trial_findings(const ClusterState& state) {
  std::vector<std::string> findings;
  for (const auto& [id, trial] : state.experiments().trials()) {
    if (!trial.is_over()) continue;
    const ExperimentState experiment = state.experiments().find(trial.experiment)->state;
    // Where a search was cut off, short trials are to be expected.
    const bool is_searched = is_searching(experiment) || experiment == ExperimentState::kCompleted;
    const bool is_short = trial.target && trial.units < static_cast<double>(*trial.target);
    if (trial.state != TrialState::kCompleted || !is_searched || !is_short || trial.stop ||
        trial.is_invalid)
      continue;
    findings.push_back(
        fmt::format("trial {} of experiment {} is COMPLETED at {:.6g}, below its target of {}",
                    id.value(), trial.experiment.value(), trial.units, *trial.target));
  }
  return findings;
}

TimePoint stop_before_limit_at(const ClusterState& state, const Job& job, const Trial& trial) {
  const Duration least = std::min(Duration::minutes(1), job.time_limit / 2);
  const Duration grace = state.experiments().find(trial.experiment)->spec->preemption_timeout;
  // min(max(limit / 10, min(1 min, limit / 2)), preemption_timeout) before the end.
  return job.end_time - std::min(std::max(job.time_limit / 10, least), grace);
}

std::optional<TimePoint> budget_end(const ClusterState& state, const Experiment& experiment,
                                    TimePoint now) {
  // Two budgets: hours since submission, and slot time, which is used by all running trials at
  // once. The earlier end counts.
  const ExperimentBudget& budget = experiment.spec->budget;
  std::optional<TimePoint> end;
  if (budget.wall_time != Duration()) end = experiment.submit_time + budget.wall_time;
  if (budget.slot_time != Duration()) {
    Duration used = experiment.used_slot_time;
    std::int64_t running = 0;
    for (const TrialId id : experiment.trials) {
      const Trial& trial = *state.experiments().find(id);
      const Job* job = state.jobs().find(trial.job);
      if (job == nullptr || !job->holds_resources()) continue;
      const std::int64_t slots = std::max(slots_of(trial, *experiment.spec), 1U);
      used += (now - job->start_time) * slots;
      running += slots;
    }
    if (used >= budget.slot_time) {
      end = now;
    } else if (running > 0) {
      // now + left / running: the rate of use is the number of slots that run.
      const TimePoint used_up = now + (budget.slot_time - used) / running;
      end = end ? std::min(*end, used_up) : used_up;
    }
  }
  return end ? std::optional(std::max(*end, now)) : std::nullopt;
}

}  // namespace muster

// Runs of trials: requests about experiments, runs that are asked to stop, trials whose last run is
// over.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "controller/backend/log_rules.h"
#include "controller/backend/retention.h"
#include "controller/backend/trial_rules.h"
#include "controller/core.h"
#include "controller/frontend/catalog.h"
#include "controller/frontend/collection.h"
#include "controller/frontend/continuation.h"
#include "controller/frontend/experiment.h"
#include "controller/frontend/import.h"
#include "controller/frontend/job_check.h"
#include "controller/frontend/log_calls.h"

namespace muster {

Reply Core::handle_experiment(Draft& draft, const PreparedRequest& request,
                              const Identity& identity) {
  Reply reply;
  if (const auto* continued = get_if<PreparedContinuation>(&request))
    return continue_experiment(draft, *continued, identity);
  if (const auto* prepared = get_if<PreparedExperiment>(&request)) {
    auto created = frontend::create_experiment(draft, *prepared, identity);
    if (!created.has_value()) {
      reply.error = created.error();
      return reply;
    }
    const Status possible = check_trials(*get<ExperimentCreated>(draft.events.back()).spec);
    if (possible.has_value()) return std::move(created).value();
    reply.error = possible.error();
  } else if (const auto* control = get_if<ControlExperiments>(&request)) {
    reply = frontend::control_experiments(draft, *control, identity);
  } else if (const auto* update = get_if<UpdateExperiment>(&request)) {
    reply = frontend::update_experiment(draft, *update, identity);
  } else if (const auto* report = get_if<ReportTrial>(&request)) {
    reply = frontend::report_trial(draft, *report, identity);
  } else if (const auto* flag = get_if<FlagTrial>(&request)) {
    reply = frontend::flag_trial(draft, *flag, identity);
  } else if (const auto* decision = get_if<SearchDecision>(&request)) {
    reply = frontend::decide(draft, *decision);
  } else if (const auto* run = get_if<NoteRun>(&request)) {
    reply = frontend::note_run(draft, *run, identity);
  } else if (const auto* checkpoint = get_if<NoteCheckpoint>(&request)) {
    reply = frontend::note_checkpoint(draft, *checkpoint, identity);
  } else if (const auto* store = get_if<StoreDocument>(&request)) {
    reply = frontend::store_document(draft, *store, identity);
  } else if (const auto* remove = get_if<DeleteDocument>(&request)) {
    reply = frontend::delete_document(draft, *remove, identity);
  } else if (const auto* checkpoints = get_if<DeleteCheckpoints>(&request)) {
    reply = frontend::delete_checkpoints(draft, *checkpoints, identity);
  } else if (const auto* collection = get_if<CollectCheckpoints>(&request)) {
    reply = frontend::collect(draft, *collection);
  } else if (const auto* retention = get_if<SetLogRetention>(&request)) {
    reply = frontend::set_log_retention(draft, *retention, identity);
  } else if (const auto* operate = get_if<OperateSearch>(&request)) {
    reply = frontend::operate_search(draft, *operate, identity);
  } else if (const auto* imported = get_if<ImportExperiment>(&request)) {
    reply = frontend::import_experiment(draft, *imported, identity);
  } else if (const auto* imported_trial = get_if<ImportTrial>(&request)) {
    reply = frontend::import_trial(draft, *imported_trial, identity);
  } else if (const auto* imported_checkpoint = get_if<ImportCheckpoint>(&request)) {
    reply = frontend::import_checkpoint(draft, *imported_checkpoint, identity);
  } else if (const auto* match = get_if<NoteLogMatch>(&request)) {
    reply = note_log_match(draft, *match);
  }
  return reply;
}

Reply Core::continue_experiment(Draft& draft, const PreparedContinuation& continued,
                                const Identity& identity) {
  Reply reply;
  auto drafted = frontend::continue_experiment(draft, continued, identity);
  if (!drafted.has_value()) {
    reply.error = drafted.error();
    return reply;
  }
  const auto made = std::ranges::find_if(draft.events, [](const EventBody& event) {
    return holds_alternative<ExperimentContinued>(event);
  });
  const Status possible = check_trials(*get<ExperimentContinued>(*made).spec);
  if (possible.has_value()) return std::move(drafted).value();
  draft.events.clear();
  reply.error = possible.error();
  return reply;
}

namespace {

/// The job as it is, or an elastic trial's with the least slots that it can do with.
JobSpec least_of(const JobSpec& job, const ExperimentSpec& spec) {
  return spec.is_elastic() ? with_slots(job, spec.min_slots_per_trial) : job;
}

}  // namespace

Status Core::check_trials(const ExperimentSpec& spec) const {
  const auto partitions =
      TRY(frontend::choose_partitions(state_, spec.job->get(JobText::kPartition)));
  return check_satisfiable(least_of(*spec.job, spec), partitions);
}

Status Core::check_run(const JobSpec& job, const std::vector<PartitionIndex>& partitions) const {
  const Trial& trial = *state_.experiments().find(job.trial);
  return check_satisfiable(least_of(job, *state_.experiments().find(trial.experiment)->spec),
                           partitions);
}

/// A trial that waits for a node and has none left ends.
Reply Core::note_log_match(Draft& draft, const NoteLogMatch& note) const {
  Reply reply = frontend::note_log_match(draft, note);
  const auto* change = draft.events.empty() ? nullptr : get_if<JobChanged>(&draft.events.back());
  if (reply.error || change == nullptr) return reply;
  const Job& job = *state_.jobs().find(change->job);
  if (!will_start_again(job)) return reply;
  const Status possible = check_run(*change->spec, job.partitions.to_vector());
  if (possible.has_value()) return reply;
  Trial trial = *state_.experiments().find(note.trial);
  trial.log_matches.push_back(get<LogMatched>(*(draft.events.end() - 2)).match);
  JobEnding ending;
  ending.job = job.id;
  ending.state = JobState::kFailed;
  ending.detail = no_node_left(trial, possible.error());
  draft.add(std::move(ending));
  return reply;
}

/// As settle_run; a trial that no node is left for does not go back to the queue.
void Core::settle_trial(const Job& job, bool is_own_fault, JobEnding& ending) const {
  settle_run(state_, job, is_own_fault, ending);
  const Trial* trial = ending.requeue_after ? trial_of(state_, job) : nullptr;
  if (trial == nullptr || !has_excluded_nodes(*trial)) return;
  const Status possible = check_run(*job.spec, job.partitions.to_vector());
  if (possible.has_value()) return;
  ending.state = JobState::kFailed;
  ending.detail = no_node_left(*trial, possible.error());
  ending.requeue_after = ending.is_restart = false;
  ending.hold_after = 0;
}

void Core::note_trial(JobId id) {
  const Job& job = *state_.jobs().find(id);
  if (job.spec->trial.value() != 0 && job.is_over()) trial_jobs_.push_back(id);
}

/// A trial ends with its job, in the same batch.
void Core::end_trials(TimePoint now) {
  for (const JobId id : std::exchange(trial_jobs_, {})) {
    const Job* job = state_.jobs().find(id);
    const Trial* trial = job == nullptr || !job->is_over() ? nullptr : trial_of(state_, *job);
    if (trial != nullptr) emit(trial_end(state_, *job, *trial), now);
  }
}

/// A trial that waits has its new slots at once; one that runs saves what it has and has them in
/// its next run.
void Core::resize(const sched::Resize& wish, TimePoint now) {
  const Job* job = state_.jobs().find(wish.job);
  const Trial* trial = job == nullptr ? nullptr : trial_of(state_, *job);
  if (trial == nullptr) return;
  const Experiment& experiment = *state_.experiments().find(trial->experiment);
  if (experiment.state != ExperimentState::kActive ||
      slots_of(*trial, *experiment.spec) == wish.slots)
    return;
  if (job->run != nullptr) {
    if (job->state != JobState::kRunning || job->run->stop) return;
    wished_slots_[wish.job] = wish.slots;
    emit(StopRequested{wish.job, {StopCall::kPreempt, now + experiment.spec->preemption_timeout}},
         now);
    return;
  }
  if (!job->is_pending()) return;
  JobChanged change;
  change.job = wish.job;
  change.spec = std::make_shared<const JobSpec>(with_slots(*job->spec, wish.slots));
  emit(TrialResized{trial->id, wish.slots}, now);
  emit(std::move(change), now);
}

/// Before anything is collected by what an older version did not record.
void Core::recover_retentions(TimePoint now) {
  std::vector<ExperimentChanged> changes;
  for (const auto& [id, experiment] : state_.experiments().experiments()) {
    const auto said = experiment.is_collected ? std::nullopt : unrecorded_retention(experiment);
    if (!said) continue;
    changes.emplace_back();
    changes.back().experiment = id;
    changes.back().retention = said;
  }
  for (ExperimentChanged& change : changes) emit(std::move(change), now);
}

/// Copies of a trial begin with what it had saved when its run was over.
void Core::source_copies(const Job& job, TimePoint now) {
  const Trial* original =
      job.spec->trial.value() == 0 ? nullptr : state_.experiments().find(job.spec->trial);
  if (original == nullptr) return;
  const CheckpointRef saved = state_.checkpoints().latest(original->id);
  const std::vector<TrialId> trials = state_.experiments().find(original->experiment)->trials;
  for (const TrialId id : trials) {
    const Trial& copy = *state_.experiments().find(id);
    if (!copy.awaits_source || copy.clone_of != original->index) continue;
    emit(TrialSourced{id, saved == nullptr ? "" : saved->uuid}, now);
    const Job* held = copy.is_over() ? nullptr : state_.jobs().find(copy.job);
    if (held == nullptr || !held->is_pending() || trial_hold(state_, copy) != 0) continue;
    JobChanged change;
    change.job = held->id;
    change.flags =
        static_cast<std::uint16_t>(held->flags & job_flag::kAnyHold & ~job_flag::kTrialHeld);
    emit(std::move(change), now);
  }
}

/// A job that deletes is over: what it deleted is gone. One that never began has touched nothing.
void Core::end_collection(const Job& job, TimePoint now) {
  const auto found = state_.checkpoints().collections().find(job.id);
  if (found == state_.checkpoints().collections().end()) return;
  const Collection collection = found->second;
  const bool is_done = job.state == JobState::kCompleted;
  emit(CollectionEnded{job.id, is_done}, now);
  if (is_done) {
    if (collection.is_whole) emit(ExperimentDeleted{collection.experiment}, now);
    return;
  }
  const std::vector<CheckpointRef> broken = broken_off(state_.checkpoints(), collection, job);
  for (const CheckpointRef& one : broken) emit(CheckpointNoted{one}, now);
  emit(deletion_failed(collection, job), now);
}

/// A run with a session asks by itself and gets no signal before its deadline; its stop file is
/// there all the same. Steps of the script's own hear of it where there are any, because their
/// shell would end with the signal and they with it.
void Core::deliver_stop(const Job& job, std::optional<NodeIndex> only) {
  const auto is_own = [](const StepState& step) {
    return step.is_running() && step.id.step != kBatchStep;
  };
  const bool has_steps = std::ranges::any_of(job.run->steps, is_own);
  for (const StepState& step : job.run->steps) {
    if (!step.is_running()) continue;
    const bool is_quiet = job.run->has_session || (has_steps && step.id.step == kBatchStep);
    const std::uint16_t signal = is_quiet ? std::uint16_t{0} : std::uint16_t{SIGTERM};
    for (const NodeGrant& grant : step.layout->nodes) {
      if (only && grant.node != *only) continue;
      send_when_durable(grant.node,
                        StopStep{step.id, job.run->stop->call, job.run->stop->deadline, signal});
    }
  }
}

void Core::arm_budget(const Job& job) {
  const Trial* trial = trial_of(state_, job);
  const auto end =
      trial == nullptr
          ? std::nullopt
          : budget_end(state_, *state_.experiments().find(trial->experiment), state_.time());
  if (end) timers_.set(Timer{*end, job.id, job.attempt, TimerKind::kBudget});
}

/// What was used since the timer was set may be less than was thought then.
void Core::enforce_budget(const Job& job, TimePoint now) {
  const Trial* trial = trial_of(state_, job);
  if (trial == nullptr) return;
  const Experiment& experiment = *state_.experiments().find(trial->experiment);
  const auto end = budget_end(state_, experiment, now);
  if (!end || !is_searching(experiment.state)) return;
  if (*end > now) {
    timers_.set(Timer{*end, job.id, job.attempt, TimerKind::kBudget});
    return;
  }
  Draft draft(state_, now);
  frontend::stop_for_budget(draft, experiment);
  apply_draft(draft, now);
}

/// The limit may have been moved since the timer was set.
void Core::stop_before_limit(const Job& job, const Trial& trial, TimePoint now) {
  if (!job.end_time.is_set() || job.run->stop || stop_before_limit_at(state_, job, trial) > now)
    return;
  emit(StopRequested{job.id, {StopCall::kPreempt, job.end_time}}, now);
}

/// The time to stop by itself is over.
void Core::end_stopped(const Job& job, TimePoint now) {
  JobEnding ending;
  ending.job = job.id;
  ending.state = JobState::kCancelled;
  settle_trial(job, false, ending);
  emit(std::move(ending), now);
}

}  // namespace muster

// What happens to experiments and trials. The diagram of their states stands in model/experiment.h.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "model/catalog_names.h"
#include "state/event_applier.h"
#include "state/state_hash.h"

namespace muster {
namespace {

Trial trial_of(const TrialPlan& plan, const Experiment& experiment, TimePoint now) {
  Trial trial;
  trial.experiment = experiment.id;
  trial.index = plan.trial;
  trial.seed = plan.seed;
  trial.bracket = plan.bracket;
  trial.hparams = plan.hparams;
  trial.target = plan.target;
  trial.clone_of = plan.clone_of;
  trial.source = plan.source;
  trial.awaits_source = plan.awaits_source;
  trial.submit_time = now;
  return trial;
}

}  // namespace

Experiment& EventApplier::experiment_at(ExperimentId id) {
  Experiment* experiment = state.experiments_.find_mutable(id);
  CHECK(experiment != nullptr, "no experiment {}", id.value());
  return *experiment;
}
Trial& EventApplier::trial_at(TrialId id) {
  Trial* trial = state.experiments_.find_mutable(id);
  CHECK(trial != nullptr, "no trial {}", id.value());
  return *trial;
}
Trial& EventApplier::trial_at(const Experiment& experiment, TrialIndex index) {
  CHECK(index.value() < experiment.trials.size(), "experiment {} has no trial {}",
        experiment.id.value(), index.value());
  return trial_at(experiment.trials[index.value()]);
}

void EventApplier::end(Experiment& experiment, ExperimentState ended) {
  experiment.state = ended;
  experiment.end_time = now;
  // Nobody will decide upon them any more.
  experiment.inputs.clear();
  state.experiments_.rehash(experiment);
}

/// Only by the earliest rules: since then ends and questions are events of their own.
void EventApplier::imply_end(Experiment& experiment) {
  // Both ways rehash: by end(), or here.
  const auto ended = is_implied() ? end_state(experiment) : std::nullopt;
  if (ended) end(experiment, *ended);
  if (!ended) state.experiments_.rehash(experiment);
}

void EventApplier::imply_input(Experiment& experiment, SearchInput input) {
  if (is_implied()) experiment.inputs.push_back(std::move(input));
}

void EventApplier::operator()(const ExperimentEnded& event) {
  // An end is an event, so that a replay decides nothing; here it is only checked to be possible.
  Experiment& experiment = experiment_at(event.experiment);
  CHECK(!is_final(experiment.state) && is_final(event.state) && experiment.open_trials == 0,
        "experiment {} cannot end now", event.experiment.value());
  end(experiment, event.state);
}

void EventApplier::operator()(const SearchAsked& event) {
  Experiment& experiment = experiment_at(event.experiment);
  CHECK(is_searching(experiment.state), "experiment {} is asked after its end",
        event.experiment.value());
  // Questions wait in order until a decision covers them.
  experiment.inputs.insert(experiment.inputs.end(), event.inputs.begin(), event.inputs.end());
  state.experiments_.rehash(experiment);
}

Experiment EventApplier::new_experiment(ExperimentId id, const ExperimentSpecRef& spec,
                                        const ExperimentLabels& labels,
                                        ExperimentState experiment_state) {
  // Ids only rise: one that was skipped is never given.
  CHECK(id >= state.next_experiment_, "experiment id {} was given before", id.value());
  state.next_experiment_ = ExperimentId(id.value() + 1);
  // By the experiment, whose trials come and go.
  reference(spec->job->script);
  reference(spec->job->environment);
  Experiment experiment;
  experiment.id = id;
  experiment.spec = spec;
  experiment.spec_hash = hash_of(*spec);
  experiment.labels = labels;
  experiment.state = experiment_state;
  // Settings that change later start from the specification.
  experiment.retention = spec->retention;
  experiment.share = spec->share;
  experiment.log_retention_days = spec->log_retention_days;
  return experiment;
}

void EventApplier::operator()(const ExperimentCreated& event) {
  Experiment experiment = new_experiment(event.experiment, event.spec, event.labels, event.state);
  experiment.submit_time = now;
  imply_input(experiment, SearchBegun{});
  state.experiments_.insert(std::move(experiment));
}

void EventApplier::operator()(const ExperimentChanged& event) {
  Experiment& experiment = experiment_at(event.experiment);
  const bool is_deletion =
      event.state == ExperimentState::kDeleting || event.state == ExperimentState::kDeleteFailed;
  // Deletion comes after the end, every other change of state before it.
  CHECK(!event.state || is_final(experiment.state) == is_deletion,
        "experiment {} cannot be in state {} now", event.experiment.value(),
        static_cast<int>(*event.state));
  if (event.labels) experiment.labels = *event.labels;
  if (event.state) experiment.state = *event.state;
  if (!event.detail.empty()) experiment.detail = event.detail;
  if (event.share) experiment.share = *event.share;
  if (event.max_slots) experiment.max_slots = event.max_slots;
  if (event.retention) experiment.retention = *event.retention;
  // Another retention may keep less: the collector looks again.
  if (event.retention) experiment.is_collected = false;
  if (event.is_collected) experiment.is_collected = true;
  if (event.max_concurrent) imply_input(experiment, LimitInput{*event.max_concurrent});
  imply_end(experiment);
}

void EventApplier::operator()(const SearchDecided& event) {
  Experiment& experiment = experiment_at(event.experiment);
  // A decision covers inputs that are there, each once.
  CHECK(event.covered >= experiment.covered &&
            event.covered - experiment.covered <= experiment.inputs.size(),
        "experiment {} decides upon {} inputs of {}", event.experiment.value(), event.covered,
        experiment.covered + experiment.inputs.size());
  for (; experiment.covered < event.covered; ++experiment.covered) experiment.inputs.pop_front();
  experiment.search_state = event.state;
  experiment.progress = event.progress;
  experiment.outcome = event.outcome;
  for (const StopTrial& stop : event.stops) {
    Trial& trial = trial_at(experiment, stop.trial);
    trial.stop = stop.reason;
    state.experiments_.rehash(trial);
  }
  for (const ContinueTrial& more : event.continued) {
    Trial& trial = trial_at(experiment, more.trial);
    trial.target = more.target;
    trial.is_waiting = false;
    state.experiments_.rehash(trial);
  }
  TrialId next = event.first_trial;
  for (const TrialPlan& plan : event.created) {
    add_trial(experiment, plan, next);
    next = TrialId(next.value() + 1);
  }
  // After the new trials, which it may name.
  for (const TrialAwait& await : event.awaits) {
    Trial& trial = trial_at(experiment, await.trial);
    trial.awaits = await.units;
    state.experiments_.rehash(trial);
  }
  imply_end(experiment);
}

void EventApplier::add_trial(Experiment& experiment, const TrialPlan& plan, TrialId id) {
  // Trials are numbered by their search, in the order of their creation.
  CHECK(plan.trial.value() == experiment.trials.size(), "trial {} of experiment {} out of order",
        plan.trial.value(), experiment.id.value());
  CHECK(id >= state.next_trial_, "trial id {} was given before", id.value());
  state.next_trial_ = TrialId(id.value() + 1);
  Trial trial = trial_of(plan, experiment, now);
  trial.id = id;
  experiment.trials.push_back(trial.id);
  ++experiment.open_trials;
  state.experiments_.insert(std::move(trial));
}

namespace {

/// A state of an earlier version knows the last report alone. Requires: `metric` is not in the
/// trial yet.
void record_best(Trial& trial, double metric, bool smaller_is_better) {
  // A NaN is in no order: it becomes nobody's best.
  if (std::isnan(metric)) return;
  const double last = trial.metric && !std::isnan(*trial.metric) ? *trial.metric : metric;
  const double best = trial.best_metric.value_or(last);
  trial.best_metric = smaller_is_better ? std::min(best, metric) : std::max(best, metric);
}

}  // namespace

void EventApplier::operator()(const TrialReported& event) {
  Trial& trial = trial_at(event.trial);
  record_best(trial, event.report.metric, experiment_at(trial.experiment).spec->smaller_is_better);
  trial.metric = event.report.metric;
  trial.units = event.report.time;
  // It waits in the queue, held, until its search takes it further.
  if (event.is_at_target) trial.is_waiting = true;
  state.experiments_.rehash(trial);
  if (!event.is_input || !is_implied()) return;
  Experiment& experiment = experiment_at(trial.experiment);
  imply_input(experiment, ReportInput{trial.index, event.report});
  state.experiments_.rehash(experiment);
}

void EventApplier::operator()(const TrialFlagged& event) {
  Trial& trial = trial_at(event.trial);
  trial.is_invalid = true;
  state.experiments_.rehash(trial);
}

void EventApplier::operator()(const TrialEnded& event) {
  Trial& trial = trial_at(event.trial);
  CHECK(!trial.is_over(), "trial {} ends twice", event.trial.value());
  trial.state = event.state;
  trial.detail = event.detail;
  trial.end_time = now;
  trial.awaits.reset();
  trial.is_waiting = false;
  trial.awaits_source = false;
  // The job leaves memory, and a continued trial counts its runs on from here.
  if (const Job* job = state.jobs_.find(trial.job)) trial.last_run = last_run(*job);
  state.experiments_.rehash(trial);
  Experiment& experiment = experiment_at(trial.experiment);
  CHECK(experiment.open_trials > 0);
  --experiment.open_trials;
  // A search that is over is told of no exits.
  if (is_searching(experiment.state))
    imply_input(experiment, ExitInput{trial.index, event.exit, trial.metric});
  imply_end(experiment);
}

void EventApplier::operator()(const TrialSourced& event) {
  Trial& trial = trial_at(event.trial);
  trial.source = event.source;
  trial.awaits_source = false;
  state.experiments_.rehash(trial);
}

void EventApplier::operator()(const ExperimentContinued& event) {
  Experiment& experiment = experiment_at(event.experiment);
  CHECK(is_final(experiment.state), "experiment {} goes on before its end",
        event.experiment.value());
  // The same experiment with another specification: what belonged to its end is undone.
  experiment.spec = event.spec;
  experiment.spec_hash = hash_of(*event.spec);
  experiment.state = ExperimentState::kActive;
  experiment.end_time = TimePoint::unset();
  experiment.outcome.reset();
  experiment.detail.clear();
  experiment.is_collected = false;
  experiment.inputs.clear();
  if (is_implied()) experiment.inputs = continued_inputs(event);
  for (const TrialAgain& again : event.trials) {
    Trial& trial = trial_at(again.id);
    CHECK(trial.is_over(), "trial {} is tried again before its end", again.id.value());
    trial.state = TrialState::kActive;
    // Its old job may have left memory; JobSubmitted brings the new one.
    trial.job = JobId();
    trial.end_time = TimePoint::unset();
    trial.stop.reset();
    trial.is_invalid = false;
    trial.slots = 0;  // its new job asks for what its experiment says
    trial.resize_time = TimePoint::unset();
    trial.restarts = 0;
    trial.failed_runs.clear();
    trial.ended_early_at.reset();
    if (!event.hparams.empty()) trial.hparams = event.hparams;
    trial.detail.clear();
    ++experiment.open_trials;
    state.experiments_.rehash(trial);
  }
  state.experiments_.rehash(experiment);
}

void EventApplier::operator()(const ExperimentDeleted& event) {
  const Experiment& experiment = experiment_at(event.experiment);
  CHECK(is_final(experiment.state), "experiment {} is deleted before its end",
        event.experiment.value());
  // Uses of checkpoints go with either side: the trial that used, or the one that saved.
  for (const DocumentRef& use : state.catalog_.all(DocumentKind::kCheckpointUse)) {
    const CheckpointRef used = state.checkpoints_.find(std::string(used_checkpoint(use->name)));
    const auto is_going = [&](TrialId id) {
      const Trial* trial = state.experiments_.find(id);
      return trial != nullptr && trial->experiment == event.experiment;
    };
    if (is_going(TrialId(use->parent)) || (used != nullptr && is_going(used->trial)))
      state.catalog_.remove(use->kind, use->id);
  }
  // All that is kept under the trial's number.
  for (const TrialId trial : experiment.trials) {
    state.checkpoints_.erase(trial);
    if (state.catalog_.find(DocumentKind::kRunMetadata, trial.value()) != nullptr) {
      state.catalog_.remove(DocumentKind::kRunMetadata, trial.value());
    }
  }
  // After the catalog: nothing refers to the experiment any more.
  release(experiment.spec->job->script);
  release(experiment.spec->job->environment);
  state.experiments_.erase(event.experiment);
}

void EventApplier::operator()(const StopRequested& event) {
  Job& job = job_at(event.job);
  CHECK(job.run != nullptr, "job {} is asked to stop while it does not run", event.job.value());
  change(job, [&] { job.run->stop = event.order; });
}

void EventApplier::operator()(const LogMatched& event) {
  Trial& trial = trial_at(event.trial);
  trial.log_matches.push_back(event.match);
  state.experiments_.rehash(trial);
}

void EventApplier::operator()(const LogRetentionSet& event) {
  if (event.trial.value() != 0) {
    Trial& trial = trial_at(event.trial);
    trial.log_retention_days = event.days;
    state.experiments_.rehash(trial);
    return;
  }
  Experiment& experiment = experiment_at(event.experiment);
  experiment.log_retention_days = event.days;
  state.experiments_.rehash(experiment);
  for (const TrialId id : experiment.trials) {
    Trial& trial = trial_at(id);
    // The last word counts: what trials had of their own goes.
    trial.log_retention_days.reset();
    state.experiments_.rehash(trial);
  }
}

void EventApplier::operator()(const SearchOperated& event) {
  Experiment& experiment = experiment_at(event.experiment);
  CHECK(is_searching(experiment.state), "experiment {} is operated after its end",
        event.experiment.value());
  imply_input(experiment, event.input);
  state.experiments_.rehash(experiment);
}

void EventApplier::operator()(const TrialResized& event) {
  Trial& trial = trial_at(event.trial);
  CHECK(!trial.is_over() && event.slots > 0, "trial {} cannot have {} slots", event.trial.value(),
        event.slots);
  trial.slots = event.slots;
  trial.resize_time = now;
  state.experiments_.rehash(trial);
}

/// A trial's job is known from its submission on.
void EventApplier::record_job(const Job& job) {
  // A trial has one job at a time; a continued one was set back to none.
  if (job.spec->trial.value() == 0) return;
  Trial& trial = trial_at(job.spec->trial);
  CHECK(trial.job.value() == 0, "trial {} has job {} already", trial.id.value(), trial.job.value());
  trial.job = job.id;
  state.experiments_.rehash(trial);
}
/// What a run of a trial has used, until its last node was released.
void EventApplier::record_usage(const Job& job) {
  if (job.spec->trial.value() == 0 || !job.start_time.is_set()) return;
  const Trial& trial = trial_at(job.spec->trial);
  Experiment& experiment = experiment_at(trial.experiment);
  // At least one slot: a trial without GPUs uses what it runs on, too.
  experiment.used_slot_time +=
      (now - job.start_time) * std::max(slots_of(trial, *experiment.spec), 1U);
  state.experiments_.rehash(experiment);
}
void EventApplier::record_restart(const Job& job) {
  Trial& trial = trial_at(job.spec->trial);
  ++trial.restarts;
  trial.failed_runs.push_back(run_number(job));
  state.experiments_.rehash(trial);
}
void EventApplier::record_early_end(const Job& job) {
  Trial& trial = trial_at(job.spec->trial);
  trial.ended_early_at = trial.units;
  state.experiments_.rehash(trial);
}

}  // namespace muster

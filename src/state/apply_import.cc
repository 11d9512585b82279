// What comes from another cluster: experiments that ended there, as they were.
#include "base/check.h"
#include "state/event_applier.h"
#include "state/state_hash.h"

namespace muster {

void EventApplier::operator()(const ExperimentImported& event) {
  CHECK(event.experiment >= state.next_experiment_, "experiment id {} was given before", event.experiment.value());
  CHECK(is_final(event.state), "experiment {} is imported before its end", event.experiment.value());
  state.next_experiment_ = ExperimentId(event.experiment.value() + 1);
  Experiment experiment;
  experiment.id = event.experiment;
  experiment.spec = event.spec;
  experiment.spec_hash = hash_of(*event.spec);
  experiment.labels = event.labels;
  experiment.state = event.state;
  experiment.submit_time = event.submit_time;
  experiment.end_time = event.end_time;
  experiment.outcome = SearchOutcome::kCompleted;
  experiment.progress = event.progress;
  experiment.detail = event.detail;
  experiment.retention = event.spec->retention;
  experiment.share = event.spec->share;
  experiment.is_collected = true;  // by the cluster that it comes from
  experiment.log_retention_days = event.spec->log_retention_days;
  reference(event.spec->job->script);
  reference(event.spec->job->environment);
  state.experiments_.insert(std::move(experiment));
}

void EventApplier::operator()(const TrialImported& event) {
  const ImportedTrial& from = event.trial;
  CHECK(from.id >= state.next_trial_, "trial id {} was given before", from.id.value());
  CHECK(from.state != TrialState::kActive, "trial {} is imported before its end", from.id.value());
  state.next_trial_ = TrialId(from.id.value() + 1);
  Experiment& experiment = experiment_at(from.experiment);
  Trial trial;
  trial.id = from.id;
  trial.experiment = from.experiment;
  trial.index = TrialIndex(static_cast<std::uint32_t>(experiment.trials.size()));
  trial.imported_from = from.imported_from;
  trial.seed = from.seed;
  trial.hparams = from.hparams;
  trial.state = from.state;
  trial.restarts = from.restarts;
  trial.last_run = from.last_run;
  trial.metric = from.metric;
  trial.units = from.units;
  trial.submit_time = from.submit_time;
  trial.end_time = from.end_time;
  trial.detail = from.detail;
  experiment.trials.push_back(trial.id);
  state.experiments_.insert(std::move(trial));
  state.experiments_.rehash(experiment);
}

}  // namespace muster

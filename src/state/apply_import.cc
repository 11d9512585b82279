// What comes from another cluster: experiments that ended there, as they were.
#include "base/check.h"
#include "state/event_applier.h"

namespace muster {

void EventApplier::operator()(const ExperimentImported& event) {
  const ImportedExperiment& from = event.experiment;
  CHECK(is_final(from.state), "experiment {} is imported before its end", from.id.value());
  Experiment experiment = new_experiment(from.id, from.spec, from.labels, from.state);
  // Times are those of the other cluster.
  experiment.submit_time = from.submit_time;
  experiment.end_time = from.end_time;
  experiment.outcome = SearchOutcome::kCompleted;
  experiment.progress = from.state == ExperimentState::kCompleted ? 1 : 0;
  experiment.is_collected = true;  // by the cluster that it comes from
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
  // In the order of their import.
  trial.index = TrialIndex(static_cast<std::uint32_t>(experiment.trials.size()));
  trial.imported_from = from.imported_from;
  trial.seed = from.seed;
  trial.hparams = from.hparams;
  trial.state = from.state;
  trial.restarts = from.restarts;
  trial.last_run = from.last_run;
  trial.metric = trial.best_metric = from.metric;
  trial.units = from.units;
  trial.submit_time = from.submit_time;
  trial.end_time = from.end_time;
  experiment.trials.push_back(trial.id);
  state.experiments_.insert(std::move(trial));
  state.experiments_.rehash(experiment);
}

}  // namespace muster

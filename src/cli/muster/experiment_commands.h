// The verbs of `muster experiment` that talk to the controller. Words are the arguments behind the
// verb.
#pragma once

#include <string>
#include <vector>

#include "cli/lib/console.h"
#include "cli/lib/session.h"
#include "model/request.h"

namespace muster::cli {

int run_experiment_create(const Words& words);
int run_experiment_continue(const Words& words);
int run_experiment_fork(const Words& words);
int run_experiment_list(const Words& words);
int run_experiment_describe(const Words& words);
int run_experiment_list_trials(const Words& words);
int run_experiment_list_checkpoints(const Words& words);
int run_experiment_label(const Words& words);
int run_experiment_wait(const Words& words);
int run_experiment_set(const Words& words);
int run_experiment_move(const Words& words);
int run_experiment_config(const Words& words);
/// Returns the creation of an experiment with the code of another, from here. `command`: the
/// command line that it is submitted with.
CreateExperiment fork_of(ExperimentId parent, std::string config, const Words& command);
/// Follows an experiment to its end. Returns the exit code, which says how that was.
int follow_experiment(Session& session, const Console& console, std::uint32_t number);

int control_experiments(ExperimentVerb verb, const Words& words);
template <ExperimentVerb verb>
int run_experiment_verb(const Words& words) {
  return control_experiments(verb, words);
}

}  // namespace muster::cli

// The verbs of `muster experiment` that talk to the controller. Words are the arguments behind the verb.
#pragma once

#include <vector>

#include "cli/console.h"
#include "model/request.h"

namespace muster::cli {

int run_experiment_create(const Words& words);
int run_experiment_continue(const Words& words);
int run_experiment_fork(const Words& words);
int run_experiment_list(const Words& words);
int run_experiment_describe(const Words& words);
int run_experiment_wait(const Words& words);
int run_experiment_set(const Words& words);
int run_experiment_config(const Words& words);
int control_experiments(ExperimentVerb verb, const Words& words);
template <ExperimentVerb verb>
int run_experiment_verb(const Words& words) {
  return control_experiments(verb, words);
}

}  // namespace muster::cli

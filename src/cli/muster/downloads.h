// Downloads files that the controller has or finds into folders of the caller's.
#pragma once

#include "cli/lib/console.h"

namespace muster::cli {

int run_checkpoint_download(const Words& words);
/// Downloads the best checkpoints of an experiment.
int run_experiment_download(const Words& words);
/// Downloads the code that its trials run.
int run_experiment_download_code(const Words& words);
/// Downloads the best, or the latest, checkpoint of a trial.
int run_trial_download(const Words& words);

}  // namespace muster::cli

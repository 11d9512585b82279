// Imports what has ended in another cluster, for operators. What is there already is left as it is,
// so that an import can be repeated.
#pragma once

#include "engine/command.h"
#include "engine/draft.h"

namespace muster::requests {

/// Imports an experiment. Errors: kPermissionDenied. The reply names the experiment, also one that
/// was there.
Reply import_experiment(Draft& draft, const ImportExperiment& import, const Identity& identity);
/// Imports a trial. Errors: kPermissionDenied; kNotFound: its experiment; kFailedPrecondition: that
/// is no imported one. The reply names the trial.
Reply import_trial(Draft& draft, const ImportTrial& import, const Identity& identity);
/// Imports a checkpoint. Errors: as of a trial; kInvalidArgument: its uuid; kAlreadyExists: another
/// trial has a checkpoint of that uuid.
Reply import_checkpoint(Draft& draft, const ImportCheckpoint& import, const Identity& identity);

}  // namespace muster::requests

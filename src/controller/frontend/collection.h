// Checkpoints and experiments that are deleted: which may be, and the job that does it under their owner's name. The controller itself
// touches no user's storage.
#pragma once

#include "base/result.h"
#include "controller/draft.h"

namespace muster::frontend {

/// What must not be deleted, and why, in words; nullopt: it may be. Kept are registered checkpoints, those that an experiment or a
/// trial begins with, and what a trial that has not ended goes on from.
std::optional<std::string> kept_because(const ClusterState& state, const Checkpoint& checkpoint);

/// As their owner asked. Errors: kNotFound; kFailedPrecondition for one that is kept, and nothing is deleted then.
Reply delete_checkpoints(Draft& draft, const DeleteCheckpoints& asked, const Identity& identity);

/// What an experiment's retention does not keep. What is kept for another reason stays, without a word.
Reply collect(Draft& draft, const CollectCheckpoints& collect);

/// An experiment with all that is stored of it. Requires: it is the caller's. Errors: kFailedPrecondition.
Status delete_experiment(Draft& draft, const Experiment& experiment);

}  // namespace muster::frontend

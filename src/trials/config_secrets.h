// Hides what of an experiment's configuration is its owner's alone: the keys to its storage.
#pragma once

#include "model/experiment.h"
#include "model/request.h"

namespace muster {

/// Returns the specification as `reader` may see it. Its owner and operators see all. Others who
/// may read the experiment (`is_open`) get the configuration, and its original, without access_key
/// and secret_key of checkpoint_storage and data.secrets; an original that holds them is then shown
/// as JSON. Who may not gets what lists show: names, search, hyperparameters, resources; no
/// original, entrypoint or folder. Cost: that of reading both texts, for others; nothing for the
/// owner.
ExperimentSpecRef spec_shown_to(const Identity& reader, const ExperimentSpecRef& spec,
                                bool is_open);

}  // namespace muster

// What of an experiment's configuration is its owner's alone: the keys to its storage.
#pragma once

#include "model/experiment.h"
#include "model/request.h"

namespace muster {

/// The specification as `reader` may see it: others than its owner and operators get the configuration, and its original, without
/// access_key and secret_key of checkpoint_storage. An original that holds them is then shown as JSON. Cost: that of reading both
/// texts, for others; nothing for the owner.
ExperimentSpecRef spec_shown_to(const Identity& reader, const ExperimentSpecRef& spec);

}  // namespace muster

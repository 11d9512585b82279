// The part of validating a request that needs no state: it runs before the core, on the gateway's
// thread.
#pragma once

#include "admission/caller.h"
#include "base/result.h"
#include "engine/command.h"
#include "model/cluster_config.h"

namespace muster {

/// Checks texts, parses array and dependencies, computes digests, and puts the verified identity
/// into the spec. Requires: no ContinueExperiment, which needs the state:
/// platform/config/prepare_experiment.h. Errors: kInvalidArgument with Slurm's text in `message`.
Result<PreparedRequest> prepare(Request request, const Identity& identity, const CallerNames& names,
                                const ClusterSettings& settings, LastBlob& environments);

}  // namespace muster

// The part of validating a job or a step that needs no state: it runs before the core, on the
// gateway's thread.
#pragma once

#include "admission/caller.h"
#include "base/result.h"
#include "engine/command.h"
#include "model/cluster_config.h"

namespace muster::admission {

/// Checks texts and numbers, parses array and dependencies, computes digests, and puts the verified
/// identity into the specification. Errors: kInvalidArgument with Slurm's text in `message`.
Result<PreparedRequest> prepare_submit(SubmitJob submit, const Identity& identity,
                                       const CallerNames& names, const ClusterSettings& settings,
                                       LastBlob& environments);
/// Does the same for a step inside an allocation.
Result<PreparedRequest> prepare_step(CreateStep create, LastBlob& environments);

}  // namespace muster::admission

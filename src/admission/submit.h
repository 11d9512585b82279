// Submission: a job that is asked for, against the state.
#pragma once

#include "base/result.h"
#include "engine/draft.h"
#include "engine/feasibility.h"

namespace muster::admission {

/// Drafts JobSubmitted; the reply's `job` is the id given. Requires: none of the other jobs of the
/// same batch is named by a dependency. Errors: Slurm's text in `message`, the cause and the way
/// out in `detail`.
Result<Reply> submit(Draft& draft, const PreparedSubmit& submit, const Identity& identity);
/// The same for a job that some set of the cluster's nodes must be able to run.
Result<Reply> submit(Draft& draft, const PreparedSubmit& submit, const Identity& identity,
                     const Feasibility& feasibility);

}  // namespace muster::admission

// Submission: checks a job against the state, and drafts it.
#pragma once

#include "base/result.h"
#include "engine/draft.h"
#include "engine/feasibility.h"

namespace muster::admission {

/// Drafts JobSubmitted; the reply's `job` is the id given. Requires: no dependency names another
/// job of the same batch. Errors: Slurm's text in `message`, the cause and the way out in `detail`.
Result<Reply> submit(Draft& draft, const PreparedSubmit& submit, const Identity& identity);
/// Does the same for a job that some set of the cluster's nodes must be able to run.
Result<Reply> submit(Draft& draft, const PreparedSubmit& submit, const Identity& identity,
                     const Feasibility& feasibility);

}  // namespace muster::admission

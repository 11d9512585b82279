// Continues experiments that had ended.
#pragma once

#include "base/result.h"
#include "engine/draft.h"

namespace muster::requests {

/// Drafts ExperimentContinued and a new job for each trial that is tried again: those that did not
/// complete; of a single search its trial in any case. Errors: kFailedPrecondition: it has not
/// ended, its search cannot be continued, or nothing is left to do; as of a submission.
Result<Reply> continue_experiment(Draft& draft, const PreparedContinuation& prepared,
                                  const Identity& identity);

}  // namespace muster::requests

// Asks a run to stop, with time to write what it has.
#pragma once

#include "engine/draft.h"

namespace muster::admission {

/// Asks a running job to stop. A request that is there already is not weakened, and keeps the
/// earlier deadline. Requires: job.run.
void draft_stop(Draft& draft, const Job& job, StopCall call, Duration grace);

}  // namespace muster::admission

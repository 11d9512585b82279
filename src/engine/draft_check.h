// Checks that what a batch of requests will do fits the state, before any of it is applied. The
// handlers see to that; what they overlook is refused here and costs one request, where the tables'
// CHECKs would cost the process.
#pragma once

#include "base/result.h"
#include "engine/draft.h"

namespace muster {

/// Checks what clients' requests lead to: jobs, steps, blobs, nodes, partitions, trials and
/// checkpoints that events name. Errors: kInternal, saying which event contradicts what; nothing of
/// the draft may be applied then. Cost: O(events).
Status check_draft(const Draft& draft);

}  // namespace muster

// Holds and releases of jobs by people: what scontrol hold, uhold and release change, and a
// priority that is set.
#pragma once

#include <optional>

#include "base/result.h"
#include "engine/draft.h"

namespace muster::requests {

/// Returns the refusal of what the state of a job forbids. `detail`: the way out, may be empty.
Error precondition(const char* message, const char* detail);

/// Adds to `change` what holds the job; one that runs goes on, and is held should it come back to
/// the queue. `as_user`: with the hold of its owner, whoever gives it.
/// Errors: kFailedPrecondition when it is over and does not come back, or a trial's that runs.
std::optional<Error> hold_job(const Job& job, const Identity& identity, bool as_user,
                              JobChanged& change);

/// Adds to `change` what lifts every hold of the job, with the priority that it was submitted with.
/// Requires: the job waits or is held. Errors: kPermissionDenied for an operator's hold,
/// kFailedPrecondition for that of its experiment or search.
std::optional<Error> release_job(const Draft& draft, const Job& job, const Identity& identity,
                                 JobChanged& change);

/// Checks that a release would have something to lift: it has nothing yet when the job comes back
/// to the queue held by how it ended (scontrol requeuehold, RequeueExitHold), until its nodes are
/// clean. Errors: kFailedPrecondition.
std::optional<Error> check_release_is_due(const Job& job);

}  // namespace muster::requests

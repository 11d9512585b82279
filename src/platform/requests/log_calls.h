// Validates what is said of logs, by the thread that reads them and by their owners, and drafts
// what it means.
#pragma once

#include "engine/draft.h"

namespace muster::requests {

/// A line that matches a policy of its trial: drafts LogMatched and what follows at once. What is
/// known changes nothing. Errors: kNotFound; kInvalidArgument: the trial has had no such run, or
/// the cluster no such node.
Reply record_log_match(Draft& draft, const RecordLogMatch& note);

/// Errors: kNotFound; kPermissionDenied; kInvalidArgument: not from -1 to 32767 days.
Reply set_log_retention(Draft& draft, const SetLogRetention& set, const Identity& identity);

}  // namespace muster::requests

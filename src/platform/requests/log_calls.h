// Validates requests about logs, of the thread that reads them and of their owners, and drafts the
// events that they mean.
#pragma once

#include "engine/draft.h"

namespace muster::requests {

/// Records a line that matches a policy of its trial: drafts LogMatched and what follows at once.
/// What is known changes nothing. Errors: kNotFound; kInvalidArgument: the trial has had no such
/// run, or the cluster no such node.
Reply record_log_match(Draft& draft, const RecordLogMatch& note);

/// Sets how long logs are kept. Errors: kNotFound; kPermissionDenied; kInvalidArgument: not from -1
/// to 32767 days.
Reply set_log_retention(Draft& draft, const SetLogRetention& set, const Identity& identity);

}  // namespace muster::requests

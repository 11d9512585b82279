// Everything that trials have reported, as a body that is written as fast as the client reads it.
#pragma once

#include <string>
#include <vector>

#include "api/http/api_port.h"
#include "api/http/http_message.h"

namespace muster::api {

/// Returns a body with the reports of one group of each trial; without a group all of them, but for
/// those without steps (of a machine's hardware). It has lines of {"result": {"metrics": [...]}};
/// where reading fails, the last line is the error.
StreamBody report_lines(ApiPort& port, std::vector<TrialId> trials, std::string group);

/// Returns a body of the form {"metrics": [...]}; where reading fails, the body breaks off.
StreamBody report_list(ApiPort& port, std::vector<TrialId> trials, std::string group);

}  // namespace muster::api

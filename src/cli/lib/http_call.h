// Calls the controller's HTTP for what has no other way: services of jobs, and what is streamed.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/lib/http_access.h"
#include "model/json.h"

namespace muster::cli {

struct HttpCall {
  std::string_view method = "GET";  ///< GET or POST
  std::string path;                 ///< with the query
  std::string body = {};            ///< JSON; empty: none
  std::string accept = "application/json";
};

/// Returns the answer as JSON. Errors: what the controller says, with the code of its status;
/// kUnavailable: it cannot be reached.
Result<Json> call_http(Session& session, const HttpAccess& access, const HttpCall& call);

/// Passes the answer's bytes to `receive` as they come; an error of it ends the call. Errors: as
/// above; kUnavailable also when the answer breaks off.
Status stream_http(Session& session, const HttpAccess& access, const HttpCall& call,
                   const std::function<Status(std::string_view bytes)>& receive);

}  // namespace muster::cli

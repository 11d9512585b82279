// Requests that are answered by {} or by what went wrong.
#pragma once

#include <string>

#include "api/http/api_port.h"
#include "api/http/http_message.h"

namespace muster::api {

/// A task speaks for its own trial alone. Errors: kPermissionDenied.
Status may_speak(const Caller& caller, TrialId trial);

/// As a client of the command line.
kj::Promise<HttpReply> submit_one(ApiPort& port, const Caller& caller, Request request);

}  // namespace muster::api

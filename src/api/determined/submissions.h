// Sends requests that are answered by {} or by what went wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/http/api_port.h"
#include "api/http/http_message.h"

namespace muster::api {

/// Checks that a task speaks for its own trial alone. Errors: kPermissionDenied.
Status may_speak(const Caller& caller, TrialId trial);

/// The outcomes of requests that are sent as by a client of the command line, each by itself and in
/// their order; a refused one does not keep the others back. Each is its request's error, nullopt:
/// it was done. Requires: check_list_size() let the list in.
using Refusals = std::vector<std::optional<Error>>;
kj::Promise<Refusals> submit_each(ApiPort& port, const Caller& caller,
                                  std::vector<Request> requests);

kj::Promise<HttpReply> submit_one(ApiPort& port, const Caller& caller, Request request);

}  // namespace muster::api

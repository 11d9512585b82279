// Requests that are answered by {} or by what went wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/http/api_port.h"
#include "api/http/http_message.h"

namespace muster::api {

/// A task speaks for its own trial alone. Errors: kPermissionDenied.
Status may_speak(const Caller& caller, TrialId trial);

/// As a client of the command line.
/// Requests of which each stands alone, in their order; one that is refused keeps none of the
/// others back. The answer: of each its error, nullopt: it was done.
using Refusals = std::vector<std::optional<Error>>;
kj::Promise<Refusals> submit_each(ApiPort& port, const Caller& caller,
                                  std::vector<Request> requests);

kj::Promise<HttpReply> submit_one(ApiPort& port, const Caller& caller, Request request);

}  // namespace muster::api

// Hands requests below /proxy/ on to what a job serves, streamed both ways. It decides which
// headers are handed on.
#pragma once

#include <kj/compat/http.h>

#include "api/http/header_ids.h"
#include "api/services/upstream.h"

namespace muster::api {

/// True for headers that are handed on. Not handed on are, in either direction, headers of one
/// connection alone, credentials of ours, cookies, and what would hold for the whole origin and not
/// for one service. `name` in any case.
bool is_handed_on(std::string_view name);

/// Returns the value of a cookie; empty: it is not there.
std::string_view cookie_value(std::string_view cookies, std::string_view name);

/// A request as it came. Lifetime: all of it outlives the answer.
struct ProxyCall {
  ApiPort& port;
  kj::HttpMethod method;
  const kj::HttpHeaders& headers;
  std::string_view cookies;
  kj::AsyncInputStream& body;
  std::string elsewhere;  ///< where browsers see services, "http://host:port"; empty: here
};

/// The answer to a client: a reply of ours, or the service's.
struct ProxyAnswer {
  std::optional<HttpReply> reply;  ///< nullopt: as below
  kj::Own<Upstream> upstream;
  Upstream::Reply said;  ///< its headers are those that go on
};

/// Hands a request on. `caller`: by token, or why it is none; a ticket of the target's or of a
/// cookie's will do as well.
kj::Promise<ProxyAnswer> hand_on(const ProxyCall& call, const ProxyTarget& target,
                                 const Result<Caller>& caller);

/// Returns where a browser that asked under `host` sees services: "http://host:port".
std::string services_origin(const ApiPort::ServerSettings& details, std::string_view host);

/// Returns the caller that a token's claims make. Operators are root and the user as whom the
/// controller runs.
Caller caller_with(const ApiPort::ServerSettings& details, const TokenClaims& claims);

}  // namespace muster::api

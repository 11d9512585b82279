// Requests below /proxy/: handed on to what a job serves, streamed both ways. What of the headers
// goes on is decided here.
#pragma once

#include <kj/compat/http.h>

#include "api/http/header_ids.h"
#include "api/services/upstream.h"

namespace muster::api {

/// Not so: headers of one connection alone, credentials of ours, cookies, and what would hold for
/// the whole origin and not for one service. In either direction; `name` in any case.
bool is_handed_on(std::string_view name);

/// The value of a cookie; empty: it is not there.
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

/// What a client is answered: a reply of ours, or what the service said.
struct ProxyAnswer {
  std::optional<HttpReply> reply;  ///< nullopt: as below
  kj::Own<Upstream> upstream;
  Upstream::Reply said;  ///< its headers are those that go on
};

/// `caller`: by token, or why it is none; a ticket of the target's or of a cookie's will do as
/// well.
kj::Promise<ProxyAnswer> hand_on(const ProxyCall& call, const ProxyTarget& target,
                                 const Result<Caller>& caller);

/// Where a browser that asked under `host` sees services: "http://host:port".
std::string services_origin(const ApiPort::ServerSettings& details, std::string_view host);

/// The caller that a token's claims make. Ours are root and whom the controller runs as.
Caller caller_with(const ApiPort::ServerSettings& details, const TokenClaims& claims);

}  // namespace muster::api

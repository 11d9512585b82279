// Takes requests off the wire: who asks is found out, the body is read, a handler answers.
#pragma once

#include <kj/compat/http.h>

#include <string>
#include <unordered_map>

#include "api/header_ids.h"
#include "api/proxy.h"
#include "api/router.h"

namespace muster::api {

/// Callers whose tokens were verified, by token: of all connections.
using KnownCallers = std::unordered_map<std::string, Caller>;

/// What all connections share.
struct ServiceParts {
  ApiPort& port;
  const Router& router;
  const kj::HttpHeaderTable& table;
  const HeaderIds& ids;
  KnownCallers& known;
};

/// Of one connection.
class HttpService final : public kj::HttpService {
 public:
  /// Lifetime: the connection outlives it.
  HttpService(const ServiceParts& parts, kj::AsyncIoStream& connection)
      : port_(parts.port), router_(parts.router), table_(parts.table), ids_(parts.ids), known_(parts.known), connection_(connection),
        ends_(tcp_ends(connection)) {}

  kj::Promise<void> request(kj::HttpMethod method, kj::StringPtr url, const kj::HttpHeaders& headers, kj::AsyncInputStream& body,
                            Response& response) override;

 private:
  Result<Caller> caller_of(const kj::HttpHeaders& headers);
  kj::Promise<HttpReply> answer(HttpRequest request, const Result<Caller>& caller);
  kj::Promise<HttpReply> answer_living(const Route& route, HttpRequest request);
  kj::Promise<void> proxied(const ProxyTarget& target, kj::HttpMethod method, const kj::HttpHeaders& headers, kj::AsyncInputStream& body, Response& response);
  kj::Promise<void> whole_or_broken(kj::Promise<void> body);
  kj::Promise<void> send(HttpReply reply, Response& response);
  kj::Promise<void> send(ProxyAnswer answer, Response& response);

  ApiPort& port_;
  const Router& router_;
  const kj::HttpHeaderTable& table_;
  const HeaderIds& ids_;
  KnownCallers& known_;
  kj::AsyncIoStream& connection_;
  TcpEnds ends_;
};

/// Splits a request's target into its decoded path and parameters. Errors: kInvalidArgument.
Result<HttpRequest> parse_target(std::string_view target);

}  // namespace muster::api

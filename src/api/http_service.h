// Takes requests off the wire: who asks is found out, the body is read, a handler answers.
#pragma once

#include <kj/compat/http.h>

#include <string>
#include <unordered_map>

#include "api/router.h"

namespace muster::api {

/// The headers that we read and write.
struct HeaderIds {
  explicit HeaderIds(kj::HttpHeaderTable::Builder& builder);
  kj::HttpHeaderId authorization;
  kj::HttpHeaderId allocation_token;
  kj::HttpHeaderId cookie;
  kj::HttpHeaderId set_cookie;
  kj::HttpHeaderId disposition;
};

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
  HttpService(const ServiceParts& parts, const TcpEnds& ends)
      : port_(parts.port), router_(parts.router), table_(parts.table), ids_(parts.ids), known_(parts.known), ends_(ends) {}

  kj::Promise<void> request(kj::HttpMethod method, kj::StringPtr url, const kj::HttpHeaders& headers, kj::AsyncInputStream& body,
                            Response& response) override;

 private:
  Result<Caller> caller_of(const kj::HttpHeaders& headers);
  kj::Promise<HttpReply> answer(HttpRequest request, const Result<Caller>& caller);
  kj::Promise<HttpReply> answer_living(const Route& route, HttpRequest request);
  kj::Promise<void> send(HttpReply reply, Response& response);

  ApiPort& port_;
  const Router& router_;
  const kj::HttpHeaderTable& table_;
  const HeaderIds& ids_;
  KnownCallers& known_;
  TcpEnds ends_;
};

/// Splits a request's target into its decoded path and parameters. Errors: kInvalidArgument.
Result<HttpRequest> parse_target(std::string_view target);

}  // namespace muster::api

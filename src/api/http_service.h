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

class HttpService final : public kj::HttpService {
 public:
  HttpService(ApiPort& port, const Router& router, const kj::HttpHeaderTable& table, const HeaderIds& ids)
      : port_(port), router_(router), table_(table), ids_(ids) {}

  kj::Promise<void> request(kj::HttpMethod method, kj::StringPtr url, const kj::HttpHeaders& headers, kj::AsyncInputStream& body,
                            Response& response) override;

 private:
  Result<Caller> caller_of(const kj::HttpHeaders& headers);
  kj::Promise<HttpReply> answer(HttpRequest request, const Result<Caller>& caller);
  kj::Promise<void> send(HttpReply reply, Response& response);

  ApiPort& port_;
  const Router& router_;
  const kj::HttpHeaderTable& table_;
  const HeaderIds& ids_;
  std::unordered_map<std::string, Caller> known_;  ///< whose tokens were verified, by token
};

/// Splits a request's target into its decoded path and parameters. Errors: kInvalidArgument.
Result<HttpRequest> parse_target(std::string_view target);

}  // namespace muster::api

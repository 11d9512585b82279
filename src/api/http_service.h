// Receives requests: it finds out who asks, reads the body, and lets a handler answer.
#pragma once

#include <kj/compat/http.h>

#include <optional>
#include <string>
#include <unordered_map>

#include "api/http/header_ids.h"
#include "api/http/router.h"
#include "api/http/site_check.h"
#include "api/services/proxy.h"

namespace muster::api {

/// A caller whose token was verified.
struct KnownCaller {
  Caller caller;
  TimePoint confirmed;  ///< when the token was last looked up
};
/// The verified callers by token, of all connections.
using KnownCallers = std::unordered_map<std::string, KnownCaller>;

/// What a connection's port shows. Users' pages have an origin of their own, because to a browser
/// another port is another origin.
enum class Door {
  kApi,       ///< the API; services for programs alone, browsers are sent on
  kServices,  ///< what jobs serve
};

/// What all connections share.
struct ServiceParts {
  ApiPort& port;
  const Router& router;
  const kj::HttpHeaderTable& table;
  const HeaderIds& ids;
  KnownCallers& known;
  const OwnHosts& hosts;
  Counter& busy;                  ///< requests under way, by user or job
  std::size_t user_requests_max;  ///< of one of them
  BodyBook& bodies;
};

/// How a connection came in.
struct Entrance {
  Door door = Door::kApi;
  bool must_prove = false;  ///< no good token with its first request: it ends
};

/// Serves one connection.
class HttpService final : public kj::HttpService {
 public:
  /// Begins to serve. Lifetime: the connection outlives it.
  HttpService(const ServiceParts& parts, Entrance entrance, kj::AsyncIoStream& connection)
      : port_(parts.port),
        router_(parts.router),
        table_(parts.table),
        ids_(parts.ids),
        known_(parts.known),
        hosts_(parts.hosts),
        busy_(parts.busy),
        bodies_(parts.bodies),
        user_requests_max_(parts.user_requests_max),
        door_(entrance.door),
        must_prove_(entrance.must_prove),
        connection_(connection),
        peer_(tcp_peer(connection)) {}

  kj::Promise<void> request(kj::HttpMethod method, kj::StringPtr url,
                            const kj::HttpHeaders& headers, kj::AsyncInputStream& body,
                            Response& response) override;

 private:
  struct GivenToken {
    std::string text;  ///< empty: none
    bool is_cookie = false;
  };
  /// The parts of a request that are still on the wire. Lifetime: until its answer is sent.
  struct Exchange {
    const kj::HttpHeaders& headers;
    kj::AsyncInputStream& body;
    Response& response;
  };
  GivenToken token_of(const kj::HttpHeaders& headers) const;
  std::optional<HttpReply> turned_away(Method method, const kj::HttpHeaders& headers,
                                       bool is_by_cookie) const;
  kj::Promise<Result<Caller>> caller_of(const std::string& token);
  kj::Promise<void> answer_caller(HttpRequest request, GivenToken given, Result<Caller> caller,
                                  Exchange exchange);
  /// Acquires a slot for a request; null: the caller has as many under way as he may.
  Counter::Slot slot_for(const Caller& caller);
  kj::Promise<HttpReply> answer(HttpRequest request, const Result<Caller>& caller);
  kj::Promise<HttpReply> answer_living(const Route& route, HttpRequest request);
  kj::Promise<void> proxied(const ProxyTarget& target, kj::HttpMethod method,
                            const kj::HttpHeaders& headers, kj::AsyncInputStream& body,
                            Response& response);
  kj::Promise<void> until_client_leaves();
  kj::Promise<void> whole_or_broken(kj::Promise<void> body);
  kj::Promise<void> send(HttpReply reply, Response& response);
  kj::Promise<void> send(ProxyAnswer answer, Response& response);

  ApiPort& port_;
  const Router& router_;
  const kj::HttpHeaderTable& table_;
  const HeaderIds& ids_;
  KnownCallers& known_;
  const OwnHosts& hosts_;
  Counter& busy_;
  BodyBook& bodies_;
  std::size_t user_requests_max_;
  Door door_;
  bool must_prove_;
  kj::AsyncIoStream& connection_;
  TcpPeer peer_;
};

}  // namespace muster::api

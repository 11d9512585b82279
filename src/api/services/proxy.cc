// A request to a service: who asks, which job is meant, whether he may use it, and what of headers
// goes either way. Nothing of a body is held: it goes through as it comes.

#include "api/services/proxy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/http/replies.h"
#include "text/words.h"

namespace muster::api {
namespace {

// Headers that belong to a connection or to this server: they are dropped in both directions.
constexpr std::array<std::string_view, 22> kKept{"connection",
                                                 "keep-alive",
                                                 "te",
                                                 "trailer",
                                                 "upgrade",
                                                 "content-length",
                                                 "transfer-encoding",
                                                 "proxy-authorization",
                                                 "proxy-authenticate",
                                                 "proxy-connection",
                                                 "authorization",
                                                 "grpc-metadata-x-allocation-token",
                                                 "cookie",
                                                 "set-cookie",
                                                 "x-forwarded-prefix",
                                                 "muster-service-secret",
                                                 "service-worker-allowed",
                                                 "clear-site-data",
                                                 "strict-transport-security",
                                                 "public-key-pins",
                                                 "alt-svc",
                                                 "nel"};

ProxyAnswer ours(HttpReply reply) {
  // An answer of our own, which the caller sends as it is.
  ProxyAnswer answer;
  answer.reply = std::move(reply);
  return answer;
}

HttpReply moved(std::string to) {
  HttpReply reply;
  reply.status = 302;
  reply.location = std::move(to);
  return reply;
}

/// A service that cannot be reached is told apart from a controller that cannot.
HttpReply refusal(const Error& error) {
  if (error.code == ErrorCode::kUnavailable)
    return error_reply(502, 14, "Unavailable", error.text());
  return error_reply(error);
}

/// Who asks, and the one job whose service he may use so; nullopt: all of his.
struct Visitor {
  Caller caller;
  std::optional<JobId> job = std::nullopt;
};

Result<Visitor> bearer_of(ApiPort& port, std::string_view ticket) {
  const TokenClaims claims =
      TRY(parse_service_ticket(ticket, port.settings().token_key, port.now()));
  return Visitor{caller_with(port.settings(), claims), claims.job};
}

Result<Visitor> visitor_of(const ProxyCall& call, const ProxyTarget& target,
                           const Result<Caller>& caller) {
  if (!target.ticket.empty()) return bearer_of(call.port, target.ticket);
  const std::string_view ticket = cookie_value(call.cookies, kTicketName);
  auto bearer = ticket.empty() ? Result<Visitor>(fail(ErrorCode::kNotFound, ""))
                               : bearer_of(call.port, ticket);
  if (bearer.has_value() || (!ticket.empty() && !caller.has_value())) return bearer;
  if (!caller.has_value()) return fail(caller.error());
  return Visitor{*caller};
}

/// The ticket goes from the address into a cookie, where nobody reads it over a shoulder or in a
/// history.
HttpReply redeemed(const ProxyTarget& target) {
  const std::string path = proxy_path(target.service);
  HttpReply reply = moved(path + (target.rest.empty() ? "/" : target.rest));
  reply.cookie = fmt::format("{}={}; Path={}/; HttpOnly; SameSite=Lax; Max-Age={}", kTicketName,
                             target.ticket, path, kTicketLife.seconds());
  return reply;
}

/// To where services have an origin of their own, with the ticket that was brought or one for who
/// is logged in.
HttpReply sent_on(const ProxyCall& call, const ProxyTarget& target, const Visitor& visitor,
                  const ServiceJob& service) {
  std::string to =
      call.elsewhere + proxy_path(target.service) + (target.rest.empty() ? "/" : target.rest);
  TokenClaims claims = visitor.caller.claims;
  claims.job = service.job;
  claims.expiry = call.port.now() + kTicketLife;
  const std::string ticket = target.ticket.empty()
                                 ? service_ticket(claims, call.port.settings().token_key)
                                 : target.ticket;
  to += fmt::format("{}{}={}", to.find('?') == to.npos ? '?' : '&', kTicketName, ticket);
  HttpReply reply = moved(std::move(to));
  // 307: the method and the body go along.
  reply.status = 307;
  return reply;
}

HeaderList request_headers(const ProxyCall& call, const ProxyTarget& target) {
  HeaderList headers;
  call.headers.forEach([&](kj::StringPtr name, kj::StringPtr value) {
    if (is_handed_on(name.cStr())) headers.emplace_back(name.cStr(), value.cStr());
  });
  // So that pages of the service know where they are served.
  headers.emplace_back("X-Forwarded-Prefix", proxy_path(target.service));
  return headers;
}

/// A path of the service's becomes one of ours.
void filter_reply_headers(HeaderList& headers, const std::string& prefix) {
  std::erase_if(headers, [](const auto& header) { return !is_handed_on(header.first); });
  for (auto& [name, value] : headers) {
    // Only a path of the service's own; another server's address stays.
    if (lower(name) == "location" && value.starts_with('/') && !value.starts_with("//"))
      value.insert(0, prefix);
  }
}

kj::Promise<ProxyAnswer> ask(const ProxyCall& call, const ProxyTarget& target,
                             kj::Own<Upstream> upstream) {
  // A request without a body must not wait for one.
  const bool has_body = call.body.tryGetLength().orDefault(1) != 0;
  auto answered = upstream->request(call.method, target.rest, request_headers(call, target),
                                    has_body ? &call.body : nullptr);
  return answered.then([prefix = proxy_path(target.service), upstream = kj::mv(upstream)](
                           Result<Upstream::Reply> said) mutable -> ProxyAnswer {
    if (!said.has_value()) return ours(refusal(said.error()));
    ProxyAnswer answer;
    answer.said = kj::mv(said).value();
    filter_reply_headers(answer.said.headers, prefix);
    answer.upstream = kj::mv(upstream);
    return answer;
  });
}

}  // namespace

std::string services_origin(const ApiPort::ServerSettings& details, std::string_view host) {
  if (!details.services_url.empty()) return details.services_url;
  const std::size_t colon = host.rfind(':');
  const bool has_port = colon != host.npos && host.find(']', colon) == host.npos;
  return fmt::format("http://{}:{}", has_port ? host.substr(0, colon) : host,
                     // The port of services on the same host, where a browser counts it as another
                     // origin.
                     details.services_port);
}

bool is_handed_on(std::string_view name) {
  // Compared without case, as headers are.
  return std::ranges::find(kKept, lower(name)) == kKept.end();
}

std::string_view cookie_value(std::string_view cookies, std::string_view name) {
  for (std::size_t begin = 0; begin < cookies.size();) {
    const std::size_t end = std::min(cookies.find(';', begin), cookies.size());
    std::string_view cookie = cookies.substr(begin, end - begin);
    // Blanks after the separators of cookies.
    while (cookie.starts_with(' ')) cookie.remove_prefix(1);
    if (cookie.starts_with(name) && cookie.substr(name.size()).starts_with('='))
      return cookie.substr(name.size() + 1);
    begin = end + 1;
  }
  return {};
}

Caller caller_with(const ApiPort::ServerSettings& details, const TokenClaims& claims) {
  Caller caller;
  caller.claims = claims;
  caller.identity.user = claims.user;
  caller.identity.group = claims.group;
  // A task speaks for its trial alone, whoever owns it.
  caller.identity.is_operator =
      details.is_operator(claims.user) && claims.scope != TokenScope::kTask;
  return caller;
}

kj::Promise<ProxyAnswer> hand_on(const ProxyCall& call, const ProxyTarget& target,
                                 const Result<Caller>& caller) {
  if (call.headers.isWebSocket()) {
    return ours(
        error_reply({ErrorCode::kUnimplemented, "WebSockets are not handed on to services yet",
                     "use what the service has without them"}));
  }
  // With a slash at its end, so that relative links of the service work.
  if (call.elsewhere.empty() && target.ticket.empty() && target.rest.empty())
    return ours(moved(proxy_path(target.service) + "/"));
  const auto visitor = visitor_of(call, target, caller);
  if (!visitor.has_value())
    return ours(caller.has_value() || !target.ticket.empty()
                    ? error_reply(visitor.error())
                    : unauthenticated_reply(visitor.error().text()));
  const std::string cluster = call.port.settings().cluster_id;
  return look<ServiceJob>(
             call.port, visitor->caller,
             [cluster, name = target.service,
              visitor = *visitor](const ClusterState& state) -> Result<ServiceJob> {
               ServiceJob service = TRY(find_service(state, cluster, name, visitor.caller));
               // A ticket opens one job's service, not all of a user's.
               if (!visitor.job || *visitor.job == service.job) return service;
               return fail(ErrorCode::kPermissionDenied, "this ticket is another service's", "");
             })
      .then([&call, &target,
             visitor = *visitor](Result<ServiceJob> service) -> kj::Promise<ProxyAnswer> {
        if (!service.has_value()) return ours(refusal(service.error()));
        // On the API's port a browser is sent to where services are shown.
        if (!call.elsewhere.empty()) return ours(sent_on(call, target, visitor, *service));
        if (!target.ticket.empty()) return ours(redeemed(target));
        auto address = address_of(*service, call.port.services());
        if (!address.has_value()) return ours(refusal(address.error()));
        return Upstream::open(call.port, std::move(address).value())
            .then([&call, &target](Result<kj::Own<Upstream>> upstream) -> kj::Promise<ProxyAnswer> {
              if (!upstream.has_value()) return ours(refusal(upstream.error()));
              return ask(call, target, kj::mv(upstream).value());
            });
      });
}

}  // namespace muster::api

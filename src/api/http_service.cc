#include "api/http_service.h"

#include <fmt/format.h>
#include <strings.h>

#include "api/replies.h"

namespace muster::api {
namespace {

/// A new experiment brings its code: 94 MB of it are 128 MB of JSON.
constexpr std::uint64_t kCodeBodyMax = std::uint64_t{192} << 20;
constexpr std::uint64_t kBodyMax = std::uint64_t{16} << 20;
/// Verified tokens that are kept, so that a caller of many requests is verified once.
constexpr std::size_t kKnownMax = 10'000;
/// Of a caller without a token: what it takes to log in.
constexpr std::uint64_t kStrangerBodyMax = std::uint64_t{64} << 10;
constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
constexpr std::uint64_t kDiscardMax = std::uint64_t{512} << 20;

std::optional<Method> method_of(kj::HttpMethod method) {
  switch (method) {
    case kj::HttpMethod::GET:
    case kj::HttpMethod::HEAD: return Method::kGet;
    case kj::HttpMethod::POST: return Method::kPost;
    case kj::HttpMethod::PUT: return Method::kPut;
    case kj::HttpMethod::PATCH: return Method::kPatch;
    case kj::HttpMethod::DELETE: return Method::kDelete;
    default: return std::nullopt;
  }
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> decoded(std::string_view text, bool is_form) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && is_form) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      if (i + 2 >= text.size() || digit_of(text[i + 1]) < 0 || digit_of(text[i + 2]) < 0) return std::nullopt;
      out += static_cast<char>(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2]));
      i += 2;
    }
  }
  return out;
}

std::string_view view_of(kj::StringPtr text) { return {text.begin(), text.size()}; }

/// "Bearer TOKEN", the word in any case (RFC 9110, section 11.1); empty: something else.
std::string_view bearer(std::string_view header) {
  constexpr std::string_view kWord = "Bearer ";
  const bool is_bearer = header.size() >= kWord.size() && strncasecmp(header.data(), kWord.data(), kWord.size()) == 0;
  return is_bearer ? header.substr(kWord.size()) : std::string_view();
}

kj::StringPtr status_text(unsigned status) {
  switch (status) {
    case 200: return "OK";
    case 302: return "Found";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 409: return "Conflict";
    case 413: return "Payload Too Large";
    case 429: return "Too Many Requests";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    default: return "Internal Server Error";
  }
}

bool brings_code(const HttpRequest& request) { return request.method == Method::kPost && request.path == "/api/v1/experiments"; }

/// Reads on, so that a client that sends first and listens then hears the answer; up to a point.
kj::Promise<void> discard(kj::AsyncInputStream& body, std::uint64_t most) {
  auto buffer = kj::heapArray<kj::byte>(1 << 16);
  auto read = body.tryRead(buffer.begin(), 1, buffer.size());
  return read.then([&body, most, buffer = kj::mv(buffer)](std::size_t count) -> kj::Promise<void> {
    if (count == 0 || count >= most) return kj::READY_NOW;
    return discard(body, most - count);
  });
}

/// Room is taken as bytes come: what a client only announces costs nothing.
kj::Promise<std::optional<std::string>> read_on(kj::AsyncInputStream& body, std::uint64_t most, std::string bytes) {
  auto buffer = kj::heapArray<kj::byte>(kPieceBytes);
  auto read = body.tryRead(buffer.begin(), 1, buffer.size());
  return read.then([&body, most, bytes = std::move(bytes), buffer = kj::mv(buffer)](std::size_t count) mutable -> kj::Promise<std::optional<std::string>> {
    if (count == 0) return std::optional<std::string>(std::move(bytes));
    if (bytes.size() + count > most) return discard(body, kDiscardMax).then([] { return std::optional<std::string>(); });
    bytes.append(reinterpret_cast<const char*>(buffer.begin()), count);
    return read_on(body, most, std::move(bytes));
  });
}

/// Reads a body of at most `most` bytes; nullopt: it is larger.
kj::Promise<std::optional<std::string>> read_body(kj::AsyncInputStream& body, std::uint64_t most) {
  KJ_IF_MAYBE(size, body.tryGetLength()) {
    if (*size > most) return discard(body, kDiscardMax).then([] { return std::optional<std::string>(); });
    if (*size == 0) return std::optional<std::string>(std::string());
  }
  return read_on(body, most, {});
}

}  // namespace

HeaderIds::HeaderIds(kj::HttpHeaderTable::Builder& builder)
    : authorization(builder.add("Authorization")),
      allocation_token(builder.add("Grpc-Metadata-x-allocation-token")),
      cookie(builder.add("Cookie")),
      set_cookie(builder.add("Set-Cookie")),
      disposition(builder.add("Content-Disposition")),
      accept(builder.add("Accept")),
      service_secret(builder.add(kSecretHeader.data())) {}

Result<HttpRequest> parse_target(std::string_view target) {
  HttpRequest request;
  const std::size_t mark = target.find('?');
  auto path = decoded(target.substr(0, mark), false);
  if (!path || !path->starts_with('/')) return fail(ErrorCode::kInvalidArgument, "the request's path is damaged", "");
  request.path = std::move(*path);
  if (request.path.size() > 1 && request.path.ends_with('/')) request.path.pop_back();
  std::string_view rest = mark == target.npos ? std::string_view() : target.substr(mark + 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = decoded(pair.substr(0, equals), true);
    auto value = decoded(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!name || !value) return fail(ErrorCode::kInvalidArgument, "the request's parameters are damaged", "");
    request.query.emplace_back(std::move(*name), std::move(*value));
  }
  return request;
}

Result<Caller> HttpService::caller_of(const kj::HttpHeaders& headers) {
  std::string_view token;
  KJ_IF_MAYBE(header, headers.get(ids_.cookie)) token = cookie_value(view_of(*header), "auth");
  KJ_IF_MAYBE(header, headers.get(ids_.allocation_token)) token = bearer(view_of(*header));
  KJ_IF_MAYBE(header, headers.get(ids_.authorization)) token = bearer(view_of(*header));
  if (token.empty()) return fail(ErrorCode::kPermissionDenied, "no token was given", "log in, or send Authorization: Bearer TOKEN");
  const std::string text(token);
  if (const auto found = known_.find(text); found != known_.end() && found->second.claims.expiry > port_.now()) return found->second;
  const TokenClaims claims = TRY(parse_token(token, port_.facts().token_key, port_.now()));
  const Caller caller = caller_with(port_.facts(), claims);
  if (known_.size() >= kKnownMax) known_.clear();
  known_[text] = caller;
  return caller;
}

kj::Promise<HttpReply> HttpService::answer(HttpRequest request, const Result<Caller>& caller) {
  bool is_known_path = false;
  const Route* route = router_.find(request, is_known_path);
  if (route == nullptr) {
    if (is_known_path) return error_reply(405, 12, "Unimplemented", fmt::format("{} is not served with this method", request.path));
    constexpr std::string_view kDetermineds[] = {"/api/", "/resources/", "/experiments/", "/checkpoints/", "/stream", "/prom/"};
    const bool is_ours = std::ranges::any_of(kDetermineds, [&](std::string_view prefix) { return request.path.starts_with(prefix); });
    if (!is_ours) return error_reply({ErrorCode::kNotFound, fmt::format("there is no {}", request.path), "see /openapi.json"});
    return error_reply({ErrorCode::kUnimplemented, fmt::format("{} is not there yet", request.path), "see /openapi.json for what is"});
  }
  if (!route->is_open) {
    if (!caller.has_value()) return unauthenticated_reply(caller.error().text());
    request.caller = *caller;
    if (const Status known = check_parameters(*route, request); !known.has_value()) return error_reply(known.error());
    const bool is_task = caller->claims.scope == TokenScope::kTask;
    if (is_task && request.method != Method::kGet && !route->is_for_tasks) {
      return error_reply({ErrorCode::kPermissionDenied, "a run's token speaks for the run alone", "DET_USER_TOKEN acts as its owner"});
    }
    // What a run says is checked where it is taken in.
    if (caller->claims.scope != TokenScope::kUser && !route->is_for_tasks) return answer_living(*route, std::move(request));
  }
  return route->handler(port_, std::move(request));
}

/// Of a caller whose token ends with a job: it must not have.
kj::Promise<HttpReply> HttpService::answer_living(const Route& route, HttpRequest request) {
  auto shared = std::make_shared<HttpRequest>(std::move(request));
  return port_.look(shared->caller, [](const ClusterState&) {}).then([this, &route, shared](Status alive) -> kj::Promise<HttpReply> {
    if (!alive.has_value()) return error_reply(alive.error());
    return route.handler(port_, std::move(*shared));
  });
}

/// A body that breaks off must not look whole: dropping its stream would end it as if it were.
kj::Promise<void> HttpService::whole_or_broken(kj::Promise<void> body) {
  return body.catch_([this](kj::Exception&& exception) -> kj::Promise<void> {
    connection_.shutdownWrite();
    return kj::mv(exception);
  });
}

kj::Promise<void> HttpService::send(HttpReply reply, Response& response) {
  kj::HttpHeaders headers(table_);
  headers.set(kj::HttpHeaderId::CONTENT_TYPE, kj::str(reply.content_type.c_str()));
  if (!reply.cookie.empty()) headers.set(ids_.set_cookie, kj::str(reply.cookie.c_str()));
  if (!reply.location.empty()) headers.set(kj::HttpHeaderId::LOCATION, kj::str(reply.location.c_str()));
  if (!reply.file_name.empty()) headers.set(ids_.disposition, kj::str("attachment; filename=\"", reply.file_name.c_str(), "\""));
  const kj::StringPtr text = status_text(reply.status);
  if (reply.stream) {
    auto out = response.send(reply.status, text, headers);
    auto written = whole_or_broken(reply.stream(*out));
    return written.attach(kj::mv(out), std::move(reply.stream));
  }
  auto out = response.send(reply.status, text, headers, reply.body.size());
  auto bytes = kj::heap<std::string>(std::move(reply.body));
  if (bytes->empty()) return kj::READY_NOW;
  auto written = out->write(bytes->data(), bytes->size());
  return written.attach(kj::mv(out), kj::mv(bytes));
}

kj::Promise<void> HttpService::send(ProxyAnswer answer, Response& response) {
  if (answer.reply) return send(std::move(*answer.reply), response);
  kj::HttpHeaders headers(table_);
  for (const auto& [name, value] : answer.said.headers) headers.add(kj::str(name.c_str()), kj::str(value.c_str()));
  kj::Maybe<std::uint64_t> size;
  if (answer.said.size) size = *answer.said.size;
  auto out = response.send(answer.said.status, kj::StringPtr(answer.said.status_text.c_str()), headers, size);
  auto pumped = whole_or_broken(answer.said.body->pumpTo(*out).ignoreResult());
  // The connection goes last: the body is read from it.
  return pumped.attach(kj::mv(out)).attach(kj::mv(answer.said.body)).attach(kj::mv(answer.upstream));
}

/// Hands a request on to a service as it comes: its body is not held.
kj::Promise<void> HttpService::proxied(const ProxyTarget& target, kj::HttpMethod method, const kj::HttpHeaders& headers, kj::AsyncInputStream& body,
                                       Response& response) {
  struct Call {
    ProxyTarget target;
    kj::HttpHeaders headers;
    std::string cookies;
  };
  auto held = kj::heap<Call>(Call{target, headers.clone(), {}});
  KJ_IF_MAYBE(cookies, headers.get(ids_.cookie)) held->cookies = cookies->cStr();
  auto call = kj::heap<ProxyCall>(ProxyCall{port_, method, held->headers, held->cookies, body});
  const auto caller = caller_of(headers);
  auto answered = hand_on(*call, held->target, caller);
  return answered.then([this, &response](ProxyAnswer answer) { return send(kj::mv(answer), response); }).attach(kj::mv(call)).attach(kj::mv(held));
}

kj::Promise<void> HttpService::request(kj::HttpMethod method, kj::StringPtr url, const kj::HttpHeaders& headers, kj::AsyncInputStream& body,
                                       Response& response) {
  // A job that says it serves where we do would have us speak to ourselves, under our own name.
  if (headers.get(ids_.service_secret) != nullptr) {
    return send(error_reply({ErrorCode::kPermissionDenied, "the controller is no service of a job", ""}), response);
  }
  if (const std::string to = interactive_path(view_of(url)); !to.empty()) {
    HttpReply reply;
    reply.status = 302;
    reply.location = to;
    return send(std::move(reply), response);
  }
  if (const auto target = parse_proxy_target(view_of(url))) return proxied(*target, method, headers, body, response);
  auto parsed = parse_target(view_of(url));
  const auto known_method = method_of(method);
  if (!parsed.has_value()) return send(error_reply(parsed.error()), response);
  if (!known_method) return send(error_reply(405, 12, "Unimplemented", "this method is not served"), response);
  HttpRequest request = std::move(parsed).value();
  request.method = *known_method;
  request.ends = ends_;
  KJ_IF_MAYBE(accept, headers.get(ids_.accept)) request.accept = accept->cStr();
  request.has_left = [this] { return has_peer_left(connection_); };
  auto caller = caller_of(headers);
  const std::uint64_t most = !caller.has_value() ? kStrangerBodyMax : brings_code(request) ? kCodeBodyMax : kBodyMax;
  return read_body(body, most)
      .then([this, request = std::move(request), caller = std::move(caller), most](std::optional<std::string> bytes) mutable -> kj::Promise<HttpReply> {
        if (!bytes && !caller.has_value()) return unauthenticated_reply(caller.error().text());
        if (!bytes) return error_reply(413, 11, "OutOfRange", fmt::format("the body has more than {} MiB", most >> 20));
        request.bytes = std::move(*bytes);
        return answer(std::move(request), caller);
      })
      .then([this, &response](HttpReply reply) { return send(std::move(reply), response); });
}

}  // namespace muster::api

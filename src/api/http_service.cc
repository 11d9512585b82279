// A request from the wire to its handler, in the order in which a stranger costs least: the names
// it asks by, its token, a place among the callers, its body, its route. Everything that is taken
// on the way is given back when the answer has been sent.

#include "api/http_service.h"

#include <fmt/format.h>
#include <strings.h>

#include "api/http/replies.h"
#include "wire/socket.h"

namespace muster::api {
namespace {

/// A new experiment brings its code: 94 MB of it are 128 MB of JSON.
constexpr std::uint64_t kCodeBodyMax = std::uint64_t{192} << 20;
constexpr std::uint64_t kBodyMax = std::uint64_t{16} << 20;
/// Verified tokens that are kept, so that a caller of many requests is verified once.
constexpr std::size_t kKnownMax = 10'000;
/// Of a caller without a token: what it takes to log in.
constexpr std::uint64_t kStrangerBodyMax = std::uint64_t{64} << 10;
/// Takes nothing from a token: a stale cookie does no harm there.
constexpr std::string_view kLoginPath = "/api/v1/auth/login";
/// A user that is gone, and groups that changed, show after so long.
constexpr Duration kConfirmedFor = Duration::seconds(60);
/// A stranger's whole body, and what comes of a caller's at a time.
constexpr kj::Duration kStrangerBodyTimeout = 10 * kj::SECONDS;
constexpr kj::Duration kPieceTimeout = 30 * kj::SECONDS;
constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
// Half a gibibyte of a body that is refused is read past; a longer one ends the connection.
constexpr std::uint64_t kDiscardMax = std::uint64_t{512} << 20;

std::optional<Method> method_of(kj::HttpMethod method) {
  switch (method) {
    // HEAD asks for the same headers as GET.
    case kj::HttpMethod::GET:
    case kj::HttpMethod::HEAD: return Method::kGet;
    case kj::HttpMethod::POST: return Method::kPost;
    case kj::HttpMethod::PUT: return Method::kPut;
    case kj::HttpMethod::PATCH: return Method::kPatch;
    case kj::HttpMethod::DELETE: return Method::kDelete;
    default: return std::nullopt;
  }
}

std::string_view view_of(kj::StringPtr text) { return {text.begin(), text.size()}; }

/// "Bearer TOKEN", the word in any case (RFC 9110, section 11.1); empty: something else.
std::string_view bearer(std::string_view header) {
  constexpr std::string_view kWord = "Bearer ";
  const bool is_bearer =
      header.size() >= kWord.size() && strncasecmp(header.data(), kWord.data(), kWord.size()) == 0;
  return is_bearer ? header.substr(kWord.size()) : std::string_view();
}

kj::StringPtr status_text(unsigned status) {
  switch (status) {
    case 200: return "OK";
    case 302: return "Found";
    case 307: return "Temporary Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 413: return "Payload Too Large";
    case 421: return "Misdirected Request";
    case 429: return "Too Many Requests";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    default: return "Internal Server Error";
  }
}

bool brings_code(const HttpRequest& request) {
  return request.method == Method::kPost && request.path == "/api/v1/experiments";
}

/// A body, and who says when it has been silent for too long.
struct TimedBody {
  kj::AsyncInputStream& bytes;
  kj::Timer& timer;
  /// Errors: OVERLOADED: nothing came in time.
  kj::Promise<std::size_t> read(kj::ArrayPtr<kj::byte> buffer) {
    return timer.timeoutAfter(kPieceTimeout, bytes.tryRead(buffer.begin(), 1, buffer.size()));
  }
};

/// Reads on, so that a client that sends first and listens then hears the answer; up to a point.
kj::Promise<void> read_past(TimedBody body, std::uint64_t most) {
  auto buffer = kj::heapArray<kj::byte>(1 << 16);
  auto read = body.read(buffer);
  return read.then([body, most, buffer = kj::mv(buffer)](std::size_t count) -> kj::Promise<void> {
    if (count == 0 || count >= most) return kj::READY_NOW;
    return read_past(body, most - count);
  });
}

/// What it is told does not hang on whether it sends what it announced.
kj::Promise<std::optional<std::string>> discard(TimedBody body) {
  return read_past(body, kDiscardMax)
      .then([] { return std::optional<std::string>(); },
            [](kj::Exception&&) { return std::optional<std::string>(); });
}

/// What a body is read into, and up to where.
struct BodyRoom {
  std::uint64_t most = 0;
  BodyBook::Share& share;
};

/// Room is taken as bytes come: what a client only announces costs nothing.
kj::Promise<std::optional<std::string>> read_on(TimedBody body, BodyRoom room, std::string bytes) {
  auto buffer = kj::heapArray<kj::byte>(kPieceBytes);
  auto read = body.read(buffer);
  return read.then([body, room, bytes = std::move(bytes), buffer = kj::mv(buffer)](
                       std::size_t count) mutable -> kj::Promise<std::optional<std::string>> {
    if (count == 0) return std::optional<std::string>(std::move(bytes));
    if (bytes.size() + count > room.most || !room.share.add(count)) {
      return discard(body);
    }
    bytes.append(reinterpret_cast<const char*>(buffer.begin()), count);
    return read_on(body, room, std::move(bytes));
  });
}

/// Reads a body of at most `room.most` bytes; nullopt: it is larger, or its sender has too much
/// under way (the share says so). Errors: OVERLOADED: it does not come.
kj::Promise<std::optional<std::string>> read_body(TimedBody body, BodyRoom room) {
  // A length that is announced is believed only as far as it refuses: read_on counts what comes.
  KJ_IF_MAYBE (size, body.bytes.tryGetLength()) {
    if (*size > room.most) return discard(body);
    if (*size == 0) return std::optional<std::string>(std::string());
  }
  return read_on(body, room, {});
}

std::string name_of(const Caller& caller) {
  const bool is_users = caller.claims.scope == TokenScope::kUser;
  return is_users ? fmt::format("user {}", caller.claims.user.value())
                  : fmt::format("job {}", caller.claims.job.value());
}

Error too_many(const std::string& user) {
  return Error{ErrorCode::kResourceExhausted,
               fmt::format("{} has too many requests under way", user),
               "wait for some of them, or ask for a greater MusterHttpUserRequests"};
}

}  // namespace

HeaderIds::HeaderIds(kj::HttpHeaderTable::Builder& builder)
    : authorization(builder.add("Authorization")),
      allocation_token(builder.add("Grpc-Metadata-x-allocation-token")),
      cookie(builder.add("Cookie")),
      set_cookie(builder.add("Set-Cookie")),
      disposition(builder.add("Content-Disposition")),
      accept(builder.add("Accept")),
      origin(builder.add("Origin")),
      fetch_site(builder.add("Sec-Fetch-Site")),
      muster_request(builder.add("X-Muster-Request")),
      service_secret(builder.add(kSecretHeader.data())) {}

/// Who speaks, by a header that no browser sends of itself or by a cookie that it does.
/// Later headers win: a program's own token goes before a browser's cookie.
HttpService::GivenToken HttpService::token_of(const kj::HttpHeaders& headers) const {
  GivenToken given;
  const auto use = [&](kj::StringPtr header) {
    given = {std::string(bearer(view_of(header))), false};
  };
  KJ_IF_MAYBE (header, headers.get(ids_.cookie))
    given = {std::string(cookie_value(view_of(*header), "auth")), true};
  KJ_IF_MAYBE (header, headers.get(ids_.allocation_token)) use(*header);
  KJ_IF_MAYBE (header, headers.get(ids_.authorization)) use(*header);
  return given;
}

/// Errors: as check_host and check_origin, as a reply.
std::optional<HttpReply> HttpService::turned_away(Method method, const kj::HttpHeaders& headers,
                                                  bool is_by_cookie) const {
  RequestOrigin from;
  const auto read = [&](kj::HttpHeaderId id) {
    std::string_view value;
    KJ_IF_MAYBE (header, headers.get(id)) value = view_of(*header);
    return value;
  };
  from.host = read(kj::HttpHeaderId::HOST);
  from.origin = read(ids_.origin);
  from.fetch_site = read(ids_.fetch_site);
  from.content_type = read(kj::HttpHeaderId::CONTENT_TYPE);
  from.has_request_header = !read(ids_.muster_request).empty();
  from.is_by_cookie = is_by_cookie;
  // 421: this server is not the one that the client means.
  if (const Status named = check_host(hosts_, from.host); !named.has_value()) {
    const bool is_foreign = named.error().code == ErrorCode::kPermissionDenied;
    return is_foreign ? error_reply(421, 7, "PermissionDenied", named.error().text())
                      : error_reply(named.error());
  }
  if (const Status sent = check_origin(method, from); !sent.has_value())
    return error_reply(sent.error());
  return std::nullopt;
}

kj::Promise<Result<Caller>> HttpService::caller_of(const std::string& token) {
  using Found = Result<Caller>;
  if (token.empty())
    return Found(fail(ErrorCode::kPermissionDenied, "no token was given",
                      "log in, or send Authorization: Bearer TOKEN"));
  const TimePoint now = port_.now();
  // Confirmed again after a minute: a user may be gone, and groups may have changed.
  if (const auto found = known_.find(token); found != known_.end() &&
                                             found->second.caller.claims.expiry > now &&
                                             found->second.confirmed + kConfirmedFor > now) {
    return Found(found->second.caller);
  }
  const auto claims = parse_token(token, port_.settings().token_key, now);
  if (!claims.has_value()) return Found(fail(claims.error()));
  // The signature says who it is of; whether he is still there is asked of the machine.
  return port_.confirm(*claims).then(
      [this, token, now, claims = *claims](Result<GroupId> group) -> Found {
        if (!group.has_value()) return fail(group.error());
        Caller caller = caller_with(port_.settings(), claims);
        caller.identity.group = *group;
        // Thrown away as a whole: keeping the newest would need an order.
        if (known_.size() >= kKnownMax) known_.clear();
        known_[token] = KnownCaller{caller, now};
        return caller;
      });
}

Counter::Slot HttpService::slot_for(const Caller& caller) {
  return busy_.acquire(name_of(caller),
                       caller.identity.is_operator ? SIZE_MAX : user_requests_max_);
}

kj::Promise<HttpReply> HttpService::answer(HttpRequest request, const Result<Caller>& caller) {
  bool is_known_path = false;
  const Route* route = router_.find(request, is_known_path);
  if (route == nullptr) {
    if (is_known_path)
      return error_reply(405, 12, "Unimplemented",
                         fmt::format("{} is not served with this method", request.path));
    constexpr std::string_view kDetermineds[] = {"/api/",         "/resources/", "/experiments/",
                                                 "/checkpoints/", "/stream",     "/prom/"};
    // Determined's own paths get 501 rather than 404: the client then says what is missing.
    const bool is_ours = std::ranges::any_of(
        kDetermineds, [&](std::string_view prefix) { return request.path.starts_with(prefix); });
    if (!is_ours)
      return error_reply(
          {ErrorCode::kNotFound, fmt::format("there is no {}", request.path), "see /openapi.json"});
    return error_reply({ErrorCode::kUnimplemented, fmt::format("{} is not there yet", request.path),
                        "see /openapi.json for what is"});
  }
  if (!route->is_open) {
    if (!caller.has_value()) return unauthenticated_reply(caller.error().text());
    request.caller = *caller;
    if (const Status known = check_parameters(*route, request); !known.has_value())
      return error_reply(known.error());
    // A run's token reaches what runs may do, and reading.
    const bool is_task = caller->claims.scope == TokenScope::kTask;
    if (is_task && request.method != Method::kGet && !route->is_for_tasks) {
      return error_reply({ErrorCode::kPermissionDenied, "a run's token speaks for the run alone",
                          "DET_USER_TOKEN acts as its owner"});
    }
    // What a run says is checked where it is taken in.
    // A token of a run that has ended is void, though its signature is good.
    if (caller->claims.scope != TokenScope::kUser && !route->is_for_tasks)
      return answer_living(*route, std::move(request));
  }
  return route->handler(port_, std::move(request));
}

/// Of a caller whose token ends with a job: it must not have.
kj::Promise<HttpReply> HttpService::answer_living(const Route& route, HttpRequest request) {
  auto shared = std::make_shared<HttpRequest>(std::move(request));
  return port_.look(shared->caller, [](const ClusterState&) {})
      .then([this, &route, shared](Status alive) -> kj::Promise<HttpReply> {
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
  // Browsers would otherwise guess a type out of the bytes and run it.
  headers.add("X-Content-Type-Options"_kj, "nosniff"_kj);
  headers.add("Cross-Origin-Resource-Policy"_kj, "same-origin"_kj);
  if (!reply.location.empty())
    headers.add("Referrer-Policy"_kj, "no-referrer"_kj);  // it may hold a ticket
  if (!reply.cookie.empty()) headers.set(ids_.set_cookie, kj::str(reply.cookie.c_str()));
  if (!reply.location.empty())
    headers.set(kj::HttpHeaderId::LOCATION, kj::str(reply.location.c_str()));
  if (!reply.file_name.empty())
    headers.set(ids_.disposition,
                kj::str("attachment; filename=\"", reply.file_name.c_str(), "\""));
  const kj::StringPtr text = status_text(reply.status);
  if (reply.stream) {
    auto out = response.send(reply.status, text, headers);
    auto written = whole_or_broken(reply.stream(*out));
    // Its bytes are written after this returns.
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
  for (const auto& [name, value] : answer.said.headers)
    headers.add(kj::str(name.c_str()), kj::str(value.c_str()));
  headers.add("X-Content-Type-Options"_kj, "nosniff"_kj);
  // Beside the API no page of a service's has an origin, should a browser ever show one.
  if (door_ == Door::kApi)
    headers.add("Content-Security-Policy"_kj,
                "sandbox allow-scripts allow-forms allow-popups allow-downloads"_kj);
  kj::Maybe<std::uint64_t> size;
  if (answer.said.size) size = *answer.said.size;
  auto out = response.send(answer.said.status, kj::StringPtr(answer.said.status_text.c_str()),
                           headers, size);
  auto pumped = whole_or_broken(answer.said.body->pumpTo(*out).ignoreResult());
  // The connection goes last: the body is read from it.
  return pumped.attach(kj::mv(out))
      .attach(kj::mv(answer.said.body))
      .attach(kj::mv(answer.upstream));
}

/// Hands a request on to a service as it comes: its body is not held.
kj::Promise<void> HttpService::proxied(const ProxyTarget& target, kj::HttpMethod method,
                                       const kj::HttpHeaders& headers, kj::AsyncInputStream& body,
                                       Response& response) {
  struct Call {
    ProxyTarget target;
    kj::HttpHeaders headers;
    std::string cookies;
  };
  // Headers are a view of the request: they are kept until the service has answered.
  auto held = kj::heap<Call>(Call{target, headers.clone(), {}});
  KJ_IF_MAYBE (cookies, headers.get(ids_.cookie)) held->cookies = cookies->cStr();
  const GivenToken given = token_of(headers);
  std::string host;
  KJ_IF_MAYBE (header, headers.get(kj::HttpHeaderId::HOST)) host = header->cStr();
  const bool is_program = !given.text.empty() && !given.is_cookie;
  // A login does not go along to what users' pages are shown on.
  auto found = caller_of(door_ == Door::kApi || is_program ? given.text : "");
  auto call = kj::heap<ProxyCall>(ProxyCall{port_, method, held->headers, held->cookies, body, {}});
  if (door_ == Door::kApi && !is_program) call->elsewhere = services_origin(port_.settings(), host);
  auto& asked = *call;
  auto& wanted = held->target;
  // A place among the callers, for as long as the service answers.
  auto answered =
      found.then([this, &asked, &wanted, &response](Result<Caller> caller) -> kj::Promise<void> {
        const auto slot = caller.has_value() ? slot_for(*caller) : nullptr;
        if (caller.has_value() && slot == nullptr)
          return send(error_reply(too_many(caller->claims.user_name)), response);
        return hand_on(asked, wanted, caller)
            .then([this, &response](ProxyAnswer answer) { return send(kj::mv(answer), response); })
            .attach(kj::heap<Counter::Slot>(slot));
      });
  // A client that has left keeps no place while its service thinks.
  return answered.attach(kj::mv(call)).attach(kj::mv(held)).exclusiveJoin(until_client_leaves());
}

/// Fails as soon as nobody will read the answer.
kj::Promise<void> HttpService::until_client_leaves() {
  // Looked at by time: a client that has closed its side sends nothing more.
  constexpr kj::Duration kLook = 250 * kj::MILLISECONDS;
  return port_.timer().afterDelay(kLook).then([this]() -> kj::Promise<void> {
    if (!has_peer_left(connection_)) return until_client_leaves();
    return kj::Exception(kj::Exception::Type::DISCONNECTED, __FILE__, __LINE__,
                         kj::heapString("the client has left"));
  });
}

kj::Promise<void> HttpService::request(kj::HttpMethod method, kj::StringPtr url,
                                       const kj::HttpHeaders& headers, kj::AsyncInputStream& body,
                                       Response& response) {
  // A job that says it serves where we do would have us speak to ourselves, under our own name.
  if (headers.get(ids_.service_secret) != nullptr) {
    return send(
        error_reply({ErrorCode::kPermissionDenied, "the controller is no service of a job", ""}),
        response);
  }
  const auto known_method = method_of(method);
  if (!known_method)
    return send(error_reply(405, 12, "Unimplemented", "this method is not served"), response);
  // Before anything of the request is believed.
  if (auto reply = turned_away(*known_method, headers, false))
    return send(std::move(*reply), response);
  if (const std::string to = interactive_path(view_of(url)); !to.empty()) {
    HttpReply reply;
    reply.status = 302;
    reply.location = to;
    return send(std::move(reply), response);
  }
  if (const auto target = parse_proxy_target(view_of(url)))
    return proxied(*target, method, headers, body, response);
  // On that port nothing of the API is served.
  if (door_ == Door::kServices) {
    return send(error_reply({ErrorCode::kNotFound, "here is what jobs serve and nothing else",
                             "the API is at http://" + port_.settings().address}),
                response);
  }
  auto parsed = parse_target(view_of(url));
  if (!parsed.has_value()) return send(error_reply(parsed.error()), response);
  HttpRequest request = std::move(parsed).value();
  request.method = *known_method;
  request.peer = peer_;
  KJ_IF_MAYBE (accept, headers.get(ids_.accept)) request.accept = accept->cStr();
  // A long poll must end when its client has left.
  request.has_left = [this] { return has_peer_left(connection_); };
  const GivenToken given = token_of(headers);
  return caller_of(given.text)
      .then([this, given, request = std::move(request), &headers, &body,
             &response](Result<Caller> caller) mutable {
        return answer_caller(std::move(request), given, std::move(caller),
                             Exchange{headers, body, response});
      });
}

kj::Promise<void> HttpService::answer_caller(HttpRequest request, GivenToken given,
                                             Result<Caller> caller, Exchange exchange) {
  kj::HttpService::Response& response = exchange.response;
  const bool is_by_cookie = given.is_cookie && caller.has_value() && request.path != kLoginPath;
  if (auto reply = turned_away(request.method, exchange.headers, is_by_cookie))
    return send(std::move(*reply), response);
  if (must_prove_ && !caller.has_value()) {
    return send(error_reply({ErrorCode::kUnavailable, "there are too many connections",
                             "those that are left are for callers with a token: try again"}),
                response)
        .then([this] { connection_.shutdownWrite(); });
  }
  must_prove_ = false;
  auto slot = caller.has_value() ? slot_for(*caller) : nullptr;
  if (caller.has_value() && slot == nullptr)
    return send(error_reply(too_many(caller->claims.user_name)), response);
  const std::uint64_t most = !caller.has_value()    ? kStrangerBodyMax
                             : brings_code(request) ? kCodeBodyMax
                                                    : kBodyMax;
  // All of a user's: his jobs' tokens would multiply his share.
  auto share = caller.has_value()
                   ? bodies_.open(fmt::format("user {}", caller->identity.user.value()),
                                  caller->identity.is_operator)
                   : bodies_.open(fmt::format("peer {}", peer_.name));
  auto& held = *share;
  auto read = read_body({exchange.body, port_.timer()}, {most, held});
  // The whole body of a stranger has one deadline; of a caller each piece has one.
  if (!caller.has_value()) read = port_.timer().timeoutAfter(kStrangerBodyTimeout, kj::mv(read));
  return read
      .then(
          [this, request = std::move(request), caller = std::move(caller), most,
           &held](std::optional<std::string> bytes) mutable -> kj::Promise<HttpReply> {
            if (!bytes && held.was_refused()) {
              return error_reply({ErrorCode::kResourceExhausted, "too much is being sent at once",
                                  "wait until some of what is being sent has been answered"});
            }
            if (!bytes && !caller.has_value()) return unauthenticated_reply(caller.error().text());
            if (!bytes)
              return error_reply(413, 11, "OutOfRange",
                                 fmt::format("the body has more than {} MiB", most >> 20));
            request.bytes = std::move(*bytes);
            return answer(std::move(request), caller);
          },
          [](kj::Exception&& exception) -> kj::Promise<HttpReply> {
            // Everything but a deadline is a broken connection.
            if (exception.getType() != kj::Exception::Type::OVERLOADED) return kj::mv(exception);
            return error_reply(408, 4, "DeadlineExceeded",
                               "the request's body did not come in time");
          })
      .then([this, &response](HttpReply reply) { return send(std::move(reply), response); })
      .attach(kj::heap<Counter::Slot>(std::move(slot)),
              kj::heap<std::unique_ptr<BodyBook::Share>>(std::move(share)));
}

}  // namespace muster::api

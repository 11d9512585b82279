// A connection to what a job serves. Its slot is taken before it is made, so that one service's
// slowness does not use up the connections of all others.

#include "api/services/upstream.h"

#include <fmt/format.h>

namespace muster::api {
namespace {

// Everything within the cluster: longer means that nothing is there.
constexpr kj::Duration kConnectTimeout = 5 * kj::SECONDS;
constexpr kj::Duration kAnswerTimeout = 120 * kj::SECONDS;

Error gone(const ServiceAddress& address, std::string why) {
  return Error{ErrorCode::kUnavailable,
               fmt::format("what job {} serves on {}:{} does not answer", address.job.value(),
                           address.host, address.port),
               std::move(why)};
}

Error silent(const ServiceAddress& address) {
  return Error{ErrorCode::kDeadlineExceeded,
               fmt::format("what job {} serves has not answered for {} s", address.job.value(),
                           kAnswerTimeout / kj::SECONDS),
               "try again"};
}

std::string text_of(const kj::Exception& exception) { return exception.getDescription().cStr(); }

}  // namespace

Upstream::Upstream(ApiPort& port, ServiceAddress address, ConnectionSlot place,
                   kj::Own<kj::AsyncIoStream> stream)
    : port_(port),
      address_(std::move(address)),
      place_(std::move(place)),
      stream_(kj::mv(stream)),
      client_(kj::newHttpClient(table_, *stream_)) {}

kj::Promise<Result<kj::Own<Upstream>>> Upstream::open(ApiPort& port, ServiceAddress address) {
  using Opened = Result<kj::Own<Upstream>>;
  auto place = port.services().acquire_slot(address.job);
  if (!place) {
    return Opened(fail(
        ErrorCode::kResourceExhausted,
        fmt::format("too many requests to what job {} serves are under way", address.job.value()),
        "try again"));
  }
  auto connected = kj::evalNow([&] { return port.connect(address.host, address.port); });
  return port.timer()
      .timeoutAfter(kConnectTimeout, kj::mv(connected))
      .then(
          [&port, address, place = std::move(*place)](kj::Own<kj::AsyncIoStream> stream) mutable
          -> Opened { return kj::heap<Upstream>(port, address, std::move(place), kj::mv(stream)); },
          [address](kj::Exception&& exception) -> Opened {
            return fail(gone(address, text_of(exception)));
          });
}

kj::Promise<Result<Upstream::Reply>> Upstream::request(kj::HttpMethod method,
                                                       const std::string& path,
                                                       const HeaderList& headers,
                                                       kj::AsyncInputStream* body) {
  using Answered = Result<Reply>;
  kj::HttpHeaders sent(table_);
  for (const auto& [name, value] : headers) sent.add(kj::str(name.c_str()), kj::str(value.c_str()));
  // Also without one: the controller knows its own requests by the name and refuses to be a
  // service.
  sent.add(kj::str(kSecretHeader.data()),
           kj::str(address_.secret.empty() ? "-" : address_.secret.c_str()));
  kj::Maybe<std::uint64_t> size = std::uint64_t{0};
  if (body != nullptr) size = body->tryGetLength();
  auto request = client_->request(method, kj::StringPtr(path.c_str(), path.size()), sent, size);
  if (body != nullptr) {
    auto pumped = body->pumpTo(*request.body).ignoreResult();
    // A service may answer before it has read all.
    written_ = pumped.attach(kj::mv(request.body)).eagerlyEvaluate([](kj::Exception&&) {});
  }
  return port_.timer()
      .timeoutAfter(kAnswerTimeout, kj::mv(request.response))
      .then(
          [address = address_](kj::HttpClient::Response&& response) -> Answered {
            // What HTTP has no such answer for is not handed on: a client would take it for the
            // controller's.
            if (response.statusCode < 200 || response.statusCode > 599)
              return fail(
                  gone(address, fmt::format("it answers with status {}", response.statusCode)));
            Reply reply;
            reply.status = response.statusCode;
            reply.status_text = response.statusText.cStr();
            response.headers->forEach([&](kj::StringPtr name, kj::StringPtr value) {
              reply.headers.emplace_back(name.cStr(), value.cStr());
            });
            KJ_IF_MAYBE (length, response.body->tryGetLength()) reply.size = *length;
            reply.body = kj::mv(response.body);
            return reply;
          },
          [address = address_](kj::Exception&& exception) -> Answered {
            return fail(exception.getType() == kj::Exception::Type::OVERLOADED
                            ? silent(address)
                            : gone(address, text_of(exception)));
          });
}

}  // namespace muster::api

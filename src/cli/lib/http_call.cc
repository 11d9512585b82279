// A connection for each call, by KJ's client and the event loop of the session. Errors come back
// as codes, the other way round than the server maps them, so that a command acts on a refusal of
// HTTP as on one of the controller.

#include "cli/lib/http_call.h"

#include <fmt/format.h>
#include <kj/compat/http.h>

#include <optional>

#include "text/json_reader.h"

namespace muster::cli {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
// Of a failed answer so much is gathered as could hold its error.
constexpr std::size_t kErrorBytesMax = std::size_t{64} << 10;

ErrorCode code_of(unsigned status) {
  switch (status) {
    case 400: return ErrorCode::kInvalidArgument;
    case 401:
    case 403: return ErrorCode::kPermissionDenied;
    case 404: return ErrorCode::kNotFound;
    case 409: return ErrorCode::kAlreadyExists;
    case 429: return ErrorCode::kResourceExhausted;
    case 501: return ErrorCode::kUnimplemented;
    case 504: return ErrorCode::kDeadlineExceeded;
    default: return status >= 500 ? ErrorCode::kUnavailable : ErrorCode::kInternal;
  }
}

/// The words of {"error": {"error": text}}, or of whatever else was answered.
Error refusal(unsigned status, const std::string& body) {
  const auto json = parse_json(body);
  const Json* outer = json.has_value() ? json->find("error") : nullptr;
  const Json* said = outer == nullptr ? nullptr : outer->find("error");
  if (said != nullptr && said->text() != nullptr) return Error{code_of(status), *said->text(), ""};
  return Error{code_of(status), fmt::format("the controller answered {}", status),
               body.substr(0, 200)};
}

/// One exchange on a connection of its own.
class Exchange {
 public:
  Exchange(Session& session, const HttpAccess& access)
      : io_(session.io()),
        host_(access.master.substr(std::string_view("http://").size())),
        token_(access.token) {}

  Status run(const HttpCall& call, const std::function<Status(std::string_view)>& receive) {
    Status outcome;
    const auto failed = kj::runCatchingExceptions([&] { outcome = exchange(call, receive); });
    KJ_IF_MAYBE (exception, failed) {
      // KJ throws what goes wrong with a connection.
      return fail(ErrorCode::kUnavailable,
                  fmt::format("the controller's HTTP at {} does not answer", host_),
                  exception->getDescription().cStr());
    }
    return outcome;
  }

 private:
  Status exchange(const HttpCall& call, const std::function<Status(std::string_view)>& receive) {
    auto address = io_.provider->getNetwork().parseAddress(host_.c_str()).wait(io_.waitScope);
    auto stream = address->connect().wait(io_.waitScope);
    auto client = kj::newHttpClient(table_, *stream);
    kj::HttpHeaders headers(table_);
    headers.set(kj::HttpHeaderId::HOST, kj::str(host_.c_str()));
    headers.add(kj::str("Authorization"), kj::str("Bearer ", token_.c_str()));
    headers.add(kj::str("Accept"), kj::str(call.accept.c_str()));
    const auto method = call.method == "POST" ? kj::HttpMethod::POST : kj::HttpMethod::GET;
    auto request =
        client->request(method, call.path.c_str(), headers, std::uint64_t{call.body.size()});
    if (!call.body.empty())
      request.body->write(call.body.data(), call.body.size()).wait(io_.waitScope);
    request.body = nullptr;
    auto response = request.response.wait(io_.waitScope);
    // Redirects are no answer of this API.
    const bool is_good = response.statusCode < 300;
    std::string error;
    auto buffer = kj::heapArray<char>(kPieceBytes);
    while (const std::size_t count =
               response.body->tryRead(buffer.begin(), 1, buffer.size()).wait(io_.waitScope)) {
      const std::string_view bytes(buffer.begin(), count);
      // As it comes: a checkpoint is larger than memory.
      if (is_good) TRY(receive(bytes));
      // The rest is read and dropped.
      else if (error.size() < kErrorBytesMax)
        error.append(bytes);
    }
    if (!is_good) return fail(refusal(response.statusCode, error));
    return {};
  }

  kj::AsyncIoContext& io_;
  std::string host_;
  std::string token_;
  kj::HttpHeaderTable table_;
};

}  // namespace

Status stream_http(Session& session, const HttpAccess& access, const HttpCall& call,
                   const std::function<Status(std::string_view)>& receive) {
  return Exchange(session, access).run(call, receive);
}

Result<Json> call_http(Session& session, const HttpAccess& access, const HttpCall& call) {
  std::string body;
  TRY(stream_http(session, access, call, [&](std::string_view bytes) -> Status {
    body.append(bytes);
    return {};
  }));
  return parse_json(body);
}

}  // namespace muster::cli

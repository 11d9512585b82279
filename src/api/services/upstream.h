// Sends one request to what a job serves, on a connection of its own. services.h decides who may,
// proxy.h what of a client's request is handed on.
#pragma once

#include <kj/compat/http.h>

#include <string>
#include <utility>
#include <vector>

#include "api/services/services.h"

namespace muster::api {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

/// It lives until the reply's body is read. Cost: one of a bounded number of connections.
class Upstream {
 public:
  /// Connects. Errors: kUnavailable, naming the job; kResourceExhausted: too many connections to
  /// services are open.
  static kj::Promise<Result<kj::Own<Upstream>>> open(ApiPort& port, ServiceAddress address);
  /// Called by `open`.
  Upstream(ApiPort& port, ServiceAddress address, ConnectionSlot place,
           kj::Own<kj::AsyncIoStream> stream);

  struct Reply {
    unsigned status = 0;
    std::string status_text;
    HeaderList headers;
    std::optional<std::uint64_t> size;
    kj::Own<kj::AsyncInputStream> body;
  };
  /// Sends the request with the secret and with `headers`; called once. `body`: null: none; it
  /// outlives this. Errors: kUnavailable, kDeadlineExceeded: nothing was answered, or no HTTP.
  kj::Promise<Result<Reply>> request(kj::HttpMethod method, const std::string& path,
                                     const HeaderList& headers, kj::AsyncInputStream* body);
  const ServiceAddress& address() const { return address_; }

 private:
  ApiPort& port_;
  ServiceAddress address_;
  ConnectionSlot place_;
  kj::HttpHeaderTable table_;
  kj::Own<kj::AsyncIoStream> stream_;
  kj::Own<kj::HttpClient> client_;
  kj::Promise<void> written_ = kj::READY_NOW;  ///< the request's body
};

}  // namespace muster::api

// A request as handlers see it, and their reply.
#pragma once

#include <kj/async-io.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/json.h"
#include "model/request.h"
#include "text/token_text.h"
#include "wire/tcp_peer.h"

namespace muster::api {

enum class Method { kGet, kPost, kPut, kPatch, kDelete };

/// Who asks, verified by a token.
struct Caller {
  TokenClaims claims;
  Identity identity;
};

struct HttpRequest {
  Method method = Method::kGet;
  std::string path;  ///< decoded, without the query
  std::vector<std::pair<std::string, std::string>>
      query;          ///< decoded, in order; a name may stand several times
  std::string bytes;  ///< the body
  Caller caller;
  std::vector<std::string> arguments = {};  ///< the values of the pattern's variables
  TcpPeer peer = {};                        ///< who is at the other end
  std::string accept = {};                  ///< the header of that name
  std::function<bool()> has_left =
      nullptr;  ///< whether nobody will read the answer; unset: not known

  /// Returns the last value of that name; empty: not given.
  std::string_view parameter(std::string_view name) const;
  std::vector<std::string> parameters(std::string_view name) const;
  bool has(std::string_view name) const;
};

/// Splits a request's target into its decoded path and parameters. Errors: kInvalidArgument.
Result<HttpRequest> parse_target(std::string_view target);

/// Writes a body piece by piece; the promise ends it.
using StreamBody = std::function<kj::Promise<void>(kj::AsyncOutputStream& out)>;

struct HttpReply {
  unsigned status = 200;
  std::string body = {};
  std::string content_type = "application/json";
  std::string cookie = {};      ///< Set-Cookie; empty: none
  std::string location = {};    ///< where to go instead; empty: nowhere
  std::string file_name = {};   ///< the body is to be saved under it; empty: it is shown
  StreamBody stream = nullptr;  ///< set: instead of `body`
};

}  // namespace muster::api

// Serves clients and agents over Cap'n Proto RPC: one network and one RPC system per connection,
// whose bootstrap capability holds the peer's identity.
#pragma once

#include <kj/async-io.h>

#include <memory>
#include <vector>

#include "base/time.h"
#include "wire/connection_quota.h"
#include "wire/controller_calls.h"

namespace muster {

/// The most requests that one batch has.
inline constexpr std::uint32_t kRequestsMax = 1024;

struct ServerOptions {
  std::vector<std::uint32_t> operators = {};  ///< uids, beside root
  QuotaLimits quota = {};
  std::size_t message_words_max =
      8U << 20;  ///< 64 MiB: what an experiment's code and what goes with it need
  std::size_t flow_limit_words = 32U << 20;  ///< of unanswered calls per connection
  /// How long a connection that has no call under way may be silent before it is closed; zero: for
  /// ever. A client that waits has a call under way.
  Duration idle_limit = {};
};

/// Accepts on a listening socket until destroyed. Exactly one of `clients` and `agents` is not
/// null.
class RpcServer {
 public:
  RpcServer(kj::AsyncIoContext& io, int listen_fd, ClientCalls* clients, AgentCalls* agents,
            ServerOptions options);
  ~RpcServer();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster

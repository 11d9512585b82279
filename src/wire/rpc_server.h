// Serves clients and agents over Cap'n Proto RPC: one network and one RPC system per connection, whose bootstrap
// capability holds the peer's identity.
#pragma once

#include <kj/async-io.h>

#include <memory>

#include "wire/controller_calls.h"

namespace muster {

struct ServerOptions {
  std::uint32_t operator_uid = 0;
  std::uint32_t connections_max = 8192;
  std::size_t flow_limit_words = 32U << 20;  ///< of unanswered calls per connection
};

/// Accepts on a listening socket until destroyed. Exactly one of `clients` and `agents` is not null.
class RpcServer {
 public:
  RpcServer(kj::AsyncIoContext& io, int listen_fd, ClientCalls* clients, AgentCalls* agents, ServerOptions options);
  ~RpcServer();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster

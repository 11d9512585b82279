// An agent's connection to the controller: it registers, then messages go both ways until either
// side is gone.
#pragma once

#include <kj/async-io.h>

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "model/agent_message.h"

namespace muster {

class AgentClient {
 public:
  /// Begins to serve `fd`. `receive` is called for every message from the controller.
  AgentClient(kj::AsyncIoContext& io, int fd, std::function<void(const ToAgent&)> receive);
  ~AgentClient();
  struct Answer {
    std::optional<Error> refusal;  ///< unset: accepted
    ClusterIdentity cluster;       ///< the controller's own
  };
  /// Registers the node. Fulfilled when the controller has accepted or refused the registration;
  /// broken when the connection is lost.
  kj::Promise<Answer> register_node(const RegisterNode& hello);
  /// Sends messages in order, batched while one call is in flight.
  void send(const FromAgent& message);
  /// Fulfilled when the connection is gone; broken when the controller refuses a message.
  kj::Promise<void> on_disconnect();
  /// Closes the connection as if the controller had left.
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster

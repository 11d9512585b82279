// An agent's connection to the controller: registers, then messages go both ways until either side
// is gone.
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
  /// `receive` is called for every message from the controller.
  AgentClient(kj::AsyncIoContext& io, int fd, std::function<void(const ToAgent&)> receive);
  ~AgentClient();
  struct Answer {
    std::optional<Error> refusal;  ///< unset: accepted
    ClusterIdentity cluster;       ///< the controller's own
  };
  /// Fulfilled when the controller has accepted or refused the registration; broken when the
  /// connection is lost.
  kj::Promise<Answer> register_node(const RegisterNode& hello);
  /// In order; batched while one call is in flight.
  void send(const FromAgent& message);
  /// Fulfilled when the connection is gone; broken when the controller refuses what it is told.
  kj::Promise<void> on_disconnect();
  /// As if the controller had left.
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster

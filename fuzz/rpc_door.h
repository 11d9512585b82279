// The controller's socket with a small cluster behind it: what a connection says is fed to it as it
// stands, and what a real client says there is recorded.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "fuzz/small_cluster.h"
#include "wire/controller_client.h"
#include "wire/rpc_server.h"

namespace muster::fuzz {

/// Which of the two doors.
enum class DoorKind { kClients, kAgents };

/// One per process: it has an event loop.
class RpcDoor {
 public:
  explicit RpcDoor(DoorKind kind);
  ~RpcDoor();

  /// A connection that says these bytes and no more; returns when it has ended. The cluster behind
  /// is a new one each time. Ends the program when the door does not let go within 20 s, or when
  /// what is left of the cluster is not what its journal says.
  void feed(std::string_view bytes);
  /// What `talk` says over a connection to the door.
  std::string record(
      const std::function<void(kj::AsyncIoContext& io, const std::string& address)>& talk);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster::fuzz

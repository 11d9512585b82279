// Finds out who is at the other end of a TCP connection, as far as the kernel knows: callers are
// counted and bounded by it.
#pragma once

#include <kj/async-io.h>

#include <optional>
#include <string>

#include "model/ids.h"

namespace muster {

struct TcpPeer {
  std::string
      name;  ///< "user 1003" of this machine, "10.1.2.3", "2001:db8:0:1::/64"; empty: not known
  bool is_on_this_machine = false;
  std::optional<UserId> user = std::nullopt;  ///< whose process it is, on this machine
};
/// Returns the peer. Cost: one question to the kernel, however many connections there are. Source:
/// sock_diag(7).
TcpPeer tcp_peer(kj::AsyncIoStream& connection);

}  // namespace muster

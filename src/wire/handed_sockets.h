// Listening sockets that stay open when a process executes itself, so that nobody uses its
// addresses meanwhile, and a client that connects waits instead of being refused.
#pragma once

#include <kj/io.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/listeners.h"
#include "wire/socket.h"

namespace muster {

/// The sockets of the process before. They are closed with this object, except through what
/// `listen` gave.
class HandedSockets {
 public:
  HandedSockets() = default;
  /// Owns the descriptors from here on, -1 for none; what does not listen on TCP is closed. The
  /// standard streams are none of them.
  explicit HandedSockets(const std::vector<int>& descriptors);
  /// Listens on "HOST:PORT": through the socket that does so already, else as listen_tcp, for which
  /// those that stand in its way are closed. Port 0 means the port of the socket at `position`
  /// where that has the host. The descriptor given is the caller's, and another one than that of
  /// this object. An address is given once. Errors: as listen_tcp.
  Result<TcpListener> listen(const std::string& address, std::size_t position);
  /// Lets what was given be given again. Requires: the caller has closed it.
  void start_over() { given_.clear(); }

 private:
  std::vector<kj::AutoCloseFd> sockets_;
  std::vector<TcpEndpoint> given_;
};

/// Sets whether the descriptor lives through execve.
void set_inheritable(int fd, bool is_inheritable);

}  // namespace muster

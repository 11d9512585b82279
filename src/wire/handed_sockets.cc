// Descriptors that were handed over may be anything by now: each is looked at before it is
// believed.
#include "wire/handed_sockets.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "wire/listeners.h"

namespace muster {
namespace {

bool is_listening(int fd) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value != 0 &&
         endpoint_at(fd).port != 0;
}

}  // namespace

HandedSockets::HandedSockets(const std::vector<int>& descriptors) {
  for (const int fd : descriptors) {
    kj::AutoCloseFd& socket = sockets_.emplace_back();
    // The standard streams are not ours to close.
    if (fd <= STDERR_FILENO) continue;
    socket = kj::AutoCloseFd(fd);
    // From now on it closes with the next execution, unless it is handed on again.
    set_inheritable(fd, false);
    if (!is_listening(fd)) socket = nullptr;
  }
}

Result<TcpListener> HandedSockets::listen(const std::string& address, std::size_t position) {
  const TcpEndpoint wanted = TRY(resolve_tcp(address));
  const auto is_given = [&](const TcpEndpoint& endpoint) {
    return std::ranges::find(given_, endpoint) != given_.end();
  };
  for (std::size_t i = 0; i < sockets_.size(); ++i) {
    if (sockets_[i].get() < 0) continue;
    const TcpEndpoint there = endpoint_at(sockets_[i]);
    // By its port; where any port will do, by its position in the configuration.
    const bool is_it = wanted.port == there.port || (wanted.port == 0 && i == position);
    if (!is_it || wanted.host != there.host || is_given(there)) continue;
    // A copy: this object closes its own.
    const int fd = ::fcntl(sockets_[i], F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
      return fail(ErrorCode::kUnavailable, "cannot listen on " + address, std::strerror(errno));
    given_.push_back(there);
    return TcpListener{fd, with_port(address, there.port)};
  }
  // Sockets that nobody has taken, and that would keep the new one from listening.
  for (kj::AutoCloseFd& socket : sockets_) {
    if (socket.get() < 0 || is_given(endpoint_at(socket))) continue;
    if (overlap(endpoint_at(socket), wanted)) socket = nullptr;
  }
  return listen_tcp(address);
}

void set_inheritable(int fd, bool is_inheritable) {
  const int flags = ::fcntl(fd, F_GETFD);
  if (flags >= 0) ::fcntl(fd, F_SETFD, is_inheritable ? flags & ~FD_CLOEXEC : flags | FD_CLOEXEC);
}

}  // namespace muster

// Sockets by address: "unix:PATH" (any length) or "HOST:PORT".
#pragma once

#include <kj/async-io.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/request.h"

namespace muster {

/// A listening Unix socket with the given mode bits; a stale file of that name is replaced. Returns the descriptor.
Result<int> listen_unix(const std::string& path, unsigned mode);
struct TcpListener {
  int fd = -1;
  std::string address;  ///< with the port that was given
};
/// A listening TCP socket on "HOST:PORT", IPv6 in brackets; port 0: one that is free. Errors: kInvalidArgument, kUnavailable.
Result<TcpListener> listen_tcp(const std::string& address);
/// A connected socket, non-blocking and close-on-exec. Errors: kUnavailable with what was tried and errno's text.
Result<int> connect_to(const std::string& address);
/// Both ends of a TCP connection over IPv4, as the kernel's table has them.
struct TcpEnds {
  std::uint64_t peer = 0;  ///< address << 16 | port, the address in host order; 0: not known
  std::uint64_t own = 0;
};
TcpEnds tcp_ends(kj::AsyncIoStream& connection);
/// True when the other end sends no more: it has closed the connection, or died.
bool has_peer_left(kj::AsyncIoStream& connection);
/// Whose process is at the other end, on this machine. Nullopt: it is not on this machine, or has gone. May take long where there are
/// many connections. Source: proc(5), /proc/net/tcp.
std::optional<UserId> tcp_peer_user(const TcpEnds& ends);
/// Who is at the other end of a Unix socket.
Result<Identity> peer_identity(int fd, std::uint32_t operator_uid);

}  // namespace muster

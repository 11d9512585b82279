// Opens sockets by address: "unix:PATH" (any length) or "HOST:PORT".
#pragma once

#include <kj/async-io.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/request.h"
#include "wire/listeners.h"

namespace muster {

/// Returns the descriptor of a listening Unix socket with the given mode bits; a stale file of that
/// name is replaced.
Result<int> listen_unix(const std::string& path, unsigned mode);
struct TcpListener {
  int fd = -1;
  std::string address;  ///< with the port that was given
};
/// Returns a listening TCP socket on "HOST:PORT", IPv6 in brackets; port 0: one that is free.
/// Errors: kInvalidArgument, kUnavailable.
Result<TcpListener> listen_tcp(const std::string& address);
/// Returns "HOST:PORT" with another port.
std::string with_port(const std::string& address, std::uint16_t port);
/// Returns where a TCP socket is bound; all zero where it is not, or is none.
TcpEndpoint endpoint_at(int fd);
/// Returns what "HOST:PORT" means to listen_tcp. Errors: kInvalidArgument: there is no such host or
/// port.
Result<TcpEndpoint> resolve_tcp(const std::string& address);
/// Checks that listen_tcp could listen on `address`, were those of `own` closed: listening sockets
/// of this process's, which are left as they are. Where one of them is in the way, sockets of
/// others that hold the port without listening are not seen. Errors: as listen_tcp.
Status check_listen(const std::string& address, std::span<const int> own);
/// Returns a connected socket, non-blocking and close-on-exec. Errors: kUnavailable with what was
/// tried and errno's text.
Result<int> connect_to(const std::string& address);
/// Does the same, and gives up after `limit`; what resolves a name of TCP has a limit of its own.
/// Errors: also kUnavailable where the other end has a full queue.
Result<int> connect_within(const std::string& address, Duration limit);
/// Does the same for "unix:PATH" alone, and without waiting. Errors: kInvalidArgument for another
/// address; kUnavailable also where the other end has a full queue.
Result<int> connect_at_once(const std::string& address);
/// True when the other end sends no more: it has closed the connection, or died.
bool has_peer_left(kj::AsyncIoStream& connection);
/// Returns who is at the other end of a Unix socket. Operators are root and those of `operators`
/// (uids).
Result<Identity> peer_identity(int fd, const std::vector<std::uint32_t>& operators);

}  // namespace muster

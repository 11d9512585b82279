// Descriptors are non-blocking and close-on-exec from the start, so that no child inherits one.
// Unix sockets are found by path, whose length the kernel bounds at 107 bytes; longer ones go
// through the directory's descriptor.
#include "wire/socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <kj/io.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <optional>

#include "wire/listeners.h"

namespace muster {
namespace {

Error unavailable(const std::string& what) {
  return Error{ErrorCode::kUnavailable, what, std::strerror(errno)};
}

/// A path longer than sockaddr_un holds is reached through its directory's descriptor.
struct UnixName {
  sockaddr_un address{};
  int directory = -1;
  ~UnixName() {
    if (directory >= 0) ::close(directory);
  }
};

Status fill(UnixName& name, const std::string& path) {
  name.address.sun_family = AF_UNIX;
  std::string usable = path;
  if (path.size() >= sizeof name.address.sun_path) {
    const auto slash = path.rfind('/');
    name.directory = ::open(path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (name.directory < 0) return fail(unavailable("cannot open the directory of " + path));
    usable = fmt::format("/proc/self/fd/{}/{}", name.directory, path.substr(slash + 1));
  }
  if (usable.size() >= sizeof name.address.sun_path) {
    return fail(ErrorCode::kInvalidArgument, "socket name too long", path);
  }
  std::memcpy(name.address.sun_path, usable.c_str(), usable.size() + 1);
  return {};
}

const sockaddr* as_sockaddr(const UnixName& name) {
  return reinterpret_cast<const sockaddr*>(&name.address);
}

/// `extra`: SOCK_NONBLOCK so as not to wait where the other end's queue is full.
Result<int> connect_unix(const std::string& path, int extra = 0) {
  UnixName name;
  TRY(fill(name, path));
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | extra, 0);
  if (fd < 0) return fail(unavailable("socket"));
  if (::connect(fd, as_sockaddr(name), sizeof name.address) != 0) {
    const Error error = unavailable("cannot connect to " + path);
    ::close(fd);
    return fail(error);
  }
  // Connecting may wait, reading and writing not.
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  return fd;
}

/// The outcome of a connection that is under way; false with errno.
bool is_made_within(int fd, Duration limit) {
  pollfd writable{fd, POLLOUT, 0};
  const std::int64_t wait_ms = std::clamp<std::int64_t>(limit.microseconds() / 1000, 0, INT_MAX);
  if (::poll(&writable, 1, static_cast<int>(wait_ms)) == 0) {
    errno = ETIMEDOUT;
    return false;
  }
  // Writable also where it failed: the error is asked for.
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) return true;
  errno = error;
  return false;
}

/// Without a limit it takes as long as the system lets it.
Result<int> connect_tcp(const std::string& address, std::optional<Duration> limit = {}) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) {
    return fail(ErrorCode::kInvalidArgument, "not an address",
                address + ": use unix:PATH or HOST:PORT");
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int rc = ::getaddrinfo(address.substr(0, colon).c_str(), address.substr(colon + 1).c_str(),
                               &hints, &found);
  if (rc != 0)
    return fail(ErrorCode::kUnavailable, "cannot resolve " + address, ::gai_strerror(rc));
  const int extra = limit ? SOCK_NONBLOCK : 0;
  const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | extra, 0);
  bool is_connected = fd >= 0 && ::connect(fd, found->ai_addr, found->ai_addrlen) == 0;
  if (fd >= 0 && !is_connected && limit && errno == EINPROGRESS)
    is_connected = is_made_within(fd, *limit);
  // errno before anything may change it.
  const Error error = unavailable("cannot connect to " + address);
  ::freeaddrinfo(found);
  if (!is_connected) {
    if (fd >= 0) ::close(fd);
    return fail(error);
  }
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  return fd;
}

}  // namespace

Result<int> listen_unix(const std::string& path, unsigned mode) {
  UnixName name;
  TRY(fill(name, path));
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return fail(unavailable("socket"));
  // What nobody listens on is left over from a process that is gone; a living one is not pushed
  // aside.
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const bool is_living =
      probe >= 0 &&
      (::connect(probe, as_sockaddr(name), sizeof name.address) == 0 || errno == EAGAIN);
  if (probe >= 0) ::close(probe);
  if (is_living) {
    ::close(fd);
    return fail(ErrorCode::kAlreadyExists, "somebody listens on " + path,
                "another process of this cluster is running: stop it first");
  }
  // Left over: nobody answered.
  ::unlink(name.address.sun_path);
  if (::bind(fd, as_sockaddr(name), sizeof name.address) != 0 ||
      ::chmod(name.address.sun_path, mode) != 0 || ::listen(fd, 4096) != 0) {
    const Error error = unavailable("cannot listen on " + path);
    ::close(fd);
    return fail(error);
  }
  return fd;
}

namespace {

/// "HOST:PORT" or "[HOST]:PORT".
Result<std::pair<std::string, std::string>> host_and_port(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon + 1 == address.size()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is no HOST:PORT", address),
                "write 127.0.0.1:8080, or port 0 for one that is free");
  }
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return std::pair(host, address.substr(colon + 1));
}

/// A socket, and how it was bound.
struct BoundSocket {
  int fd = -1;
  int error = 0;         ///< errno; 0: it is bound
  TcpEndpoint endpoint;  ///< that was asked for
};

struct ResolvedAddress {
  sockaddr_storage address{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

/// Errors: kInvalidArgument: there is no such host or port.
Result<ResolvedAddress> resolve(const std::string& address) {
  const auto [host, port] = TRY(host_and_port(address));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  // Without a host: all addresses.
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int code =
          ::getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found);
      code != 0) {
    return fail(ErrorCode::kInvalidArgument, "cannot listen on " + address, ::gai_strerror(code));
  }
  ResolvedAddress resolved;
  resolved.size = found->ai_addrlen;
  std::memcpy(&resolved.address, found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  return resolved;
}

/// Errors: as resolve.
Result<BoundSocket> try_bind(const std::string& address) {
  const ResolvedAddress resolved = TRY(resolve(address));
  BoundSocket bound;
  bound.endpoint = endpoint_of(resolved.get());
  bound.fd = ::socket(resolved.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int reuse = 1;
  // Connections of the process before, in TIME_WAIT, do not keep the port.
  ::setsockopt(bound.fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  if (bound.fd < 0 || ::bind(bound.fd, resolved.get(), resolved.size) != 0) bound.error = errno;
  return bound;
}

Result<int> bind_tcp(const std::string& address) {
  const BoundSocket bound = TRY(try_bind(address));
  if (bound.error == 0) return bound.fd;
  if (bound.fd >= 0) ::close(bound.fd);
  errno = bound.error;
  return fail(unavailable("cannot listen on " + address));
}

}  // namespace

bool has_peer_left(kj::AsyncIoStream& connection) {
  KJ_IF_MAYBE (fd, connection.getFd()) {
    // Without reading: what has come stays to be read.
    pollfd polled{*fd, POLLRDHUP, 0};
    return ::poll(&polled, 1, 0) > 0 && (polled.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  }
  return false;
}

TcpEndpoint endpoint_at(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  auto* address = reinterpret_cast<sockaddr*>(&bound);
  const bool is_tcp = ::getsockname(fd, address, &size) == 0 &&
                      (bound.ss_family == AF_INET || bound.ss_family == AF_INET6);
  return is_tcp ? endpoint_of(address) : TcpEndpoint{};
}

std::string with_port(const std::string& address, std::uint16_t port) {
  return fmt::format("{}:{}", address.substr(0, address.rfind(':')), port);
}

Result<TcpListener> listen_tcp(const std::string& address) {
  const int fd = TRY(bind_tcp(address));
  if (::listen(fd, SOMAXCONN) != 0) {
    const Error error = unavailable("cannot listen on " + address);
    ::close(fd);
    return fail(error);
  }
  return TcpListener{fd, with_port(address, endpoint_at(fd).port)};
}

Result<TcpEndpoint> resolve_tcp(const std::string& address) {
  return endpoint_of(TRY(resolve(address)).get());
}

Status check_listen(const std::string& address, std::span<const int> own) {
  const BoundSocket bound = TRY(try_bind(address));
  // Closed in any case: this only asks.
  const kj::AutoCloseFd held(bound.fd);
  if (bound.error == 0) return {};
  errno = bound.error;
  const Error error = unavailable("cannot listen on " + address);
  // The address itself is the trouble, not who holds it.
  if (bound.error != EADDRINUSE) return fail(error);
  std::vector<std::uint64_t> inodes;
  for (const int socket : own) {
    const TcpEndpoint there = endpoint_at(socket);
    // Our own, exactly there: it will be handed over or closed.
    if (there.host == bound.endpoint.host && there.port == bound.endpoint.port) return {};
    struct stat about {};
    if (::fstat(socket, &about) == 0) inodes.push_back(about.st_ino);
  }
  bool is_own_in_the_way = false;
  for (const ListeningSocket& socket : listeners()) {
    if (!overlap(socket.endpoint, bound.endpoint)) continue;
    const bool is_own = std::ranges::find(inodes, socket.inode) != inodes.end();
    is_own_in_the_way = is_own_in_the_way || is_own;
    // One of [::] that is no own could not listen beside ours if it held IPv4: it is of
    // IPV6_V6ONLY.
    const bool is_apart = is_any_v6(socket.endpoint) && !bound.endpoint.is_v6;
    if (!is_own && !is_apart) return fail(error);
  }
  // The port is held by a socket that does not listen, or that the tables do not show.
  if (!is_own_in_the_way) return fail(error);
  // The port is ours. Whether the host is this machine's shows with another one.
  const BoundSocket elsewhere = TRY(try_bind(address.substr(0, address.rfind(':')) + ":0"));
  const kj::AutoCloseFd held_too(elsewhere.fd);
  if (elsewhere.error == 0) return {};
  errno = elsewhere.error;
  return fail(unavailable("cannot listen on " + address));
}

Result<int> connect_to(const std::string& address) {
  if (address.rfind("unix:", 0) == 0) return connect_unix(address.substr(5));
  return connect_tcp(address);
}

Result<int> connect_within(const std::string& address, Duration limit) {
  // A Unix socket has nothing to wait for but its own queue.
  if (address.rfind("unix:", 0) == 0) return connect_unix(address.substr(5), SOCK_NONBLOCK);
  return connect_tcp(address, limit);
}

Result<int> connect_at_once(const std::string& address) {
  if (address.rfind("unix:", 0) == 0) return connect_unix(address.substr(5), SOCK_NONBLOCK);
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}' is no address of a socket on this machine", address),
              "use unix:PATH");
}

Result<Identity> peer_identity(int fd, const std::vector<std::uint32_t>& operators) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return fail(unavailable("SO_PEERCRED"));
  Identity identity;
  identity.user = UserId(credentials.uid);
  identity.group = GroupId(credentials.gid);
  identity.is_operator =
      credentials.uid == 0 || std::ranges::find(operators, credentials.uid) != operators.end();
  return identity;
}

}  // namespace muster

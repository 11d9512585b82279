// Finds out who listens on this machine's TCP ports, by the kernel's own tables.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// An IP address and a port; an IPv4 address is mapped to IPv6 (RFC 4291, section 2.5.5.2).
struct TcpEndpoint {
  std::array<std::uint8_t, 16> host{};
  std::uint16_t port = 0;
  bool is_v6 = false;
  friend bool operator==(const TcpEndpoint&, const TcpEndpoint&) = default;
};
/// Returns the endpoint. Requires: `address` is of AF_INET or AF_INET6.
TcpEndpoint endpoint_of(const sockaddr* address);
/// True for ::, the host that includes all others.
bool is_any_v6(const TcpEndpoint& endpoint);
/// True when nobody can listen on one of them while the other is listened on: they are one, or one
/// includes the other's host. [::] is assumed to include IPv4 as well, as it does unless
/// IPV6_V6ONLY is set.
bool overlap(const TcpEndpoint& one, const TcpEndpoint& other);

/// A socket in the state LISTEN.
struct ListeningSocket {
  TcpEndpoint endpoint;
  std::uint64_t inode = 0;
};
/// Returns the listeners of a table like /proc/net/tcp (proc(5)) or, `is_v6`, /proc/net/tcp6. Lines
/// that do not read as such are passed over.
std::vector<ListeningSocket> parse_listeners(std::string_view table, bool is_v6);
/// Returns the listeners of this process's network namespace. Cost: O(connections of the machine).
std::vector<ListeningSocket> listeners();

}  // namespace muster

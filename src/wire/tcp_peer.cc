// Of a connection over loopback the kernel knows both sockets: the peer's is the one with the two
// ends exchanged, and sock_diag names its user. Any other caller goes by address.
#include "wire/tcp_peer.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace muster {
namespace {

/// An address of IPv4, mapped ones included, in the first four bytes, or one of IPv6.
struct End {
  bool is_v6 = false;
  std::array<unsigned char, 16> address{};
  in_port_t port = 0;  ///< in network order
  bool is_loopback() const {
    return is_v6 ? IN6_IS_ADDR_LOOPBACK(reinterpret_cast<const in6_addr*>(address.data()))
                 : address[0] == 127;
  }
};

std::optional<End> end_of(const sockaddr_storage& address) {
  End end;
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    std::memcpy(end.address.data(), &v4.sin_addr, 4);
    end.port = v4.sin_port;
    return end;
  }
  if (address.ss_family != AF_INET6) return std::nullopt;
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  end.port = v6.sin6_port;
  // Mapped addresses count as IPv4: one caller must not count twice.
  end.is_v6 = !IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr);
  std::memcpy(end.address.data(), v6.sin6_addr.s6_addr + (end.is_v6 ? 0 : 12), end.is_v6 ? 16 : 4);
  return end;
}

/// Whoever has one address of IPv6 has all of its network.
std::string network_of(const End& end) {
  char text[INET6_ADDRSTRLEN] = {};
  End shown = end;
  // The lower 64 bits are the host's own choice. Source: RFC 4291, section 2.5.1.
  if (end.is_v6) std::memset(shown.address.data() + 8, 0, 8);
  ::inet_ntop(end.is_v6 ? AF_INET6 : AF_INET, shown.address.data(), text, sizeof text);
  return end.is_v6 ? fmt::format("{}/64", text) : text;
}

struct DiagRequest {
  nlmsghdr header;
  inet_diag_req_v2 question;
};

DiagRequest question_about(const End& peer, const End& own) {
  DiagRequest request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.question.sdiag_family = peer.is_v6 ? AF_INET6 : AF_INET;
  request.question.sdiag_protocol = IPPROTO_TCP;
  // In any state: it may be closing already.
  request.question.idiag_states = ~0U;
  request.question.id.idiag_sport = peer.port;
  request.question.id.idiag_dport = own.port;
  std::memcpy(request.question.id.idiag_src, peer.address.data(), peer.address.size());
  std::memcpy(request.question.id.idiag_dst, own.address.data(), own.address.size());
  request.question.id.idiag_cookie[0] = request.question.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return request;
}

/// Of the socket that has the two ends the other way round.
std::optional<UserId> user_of_socket(const End& peer, const End& own) {
  const int fd = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (fd < 0) return std::nullopt;
  const timeval timeout{0, 100'000};
  // Netlink answers at once or not at all; a tenth of a second bounds the wait.
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  const DiagRequest request = question_about(peer, own);
  alignas(nlmsghdr) std::array<char, 4096> answer{};
  ssize_t size = ::send(fd, &request, sizeof request, 0) < 0
                     ? -1
                     : ::recv(fd, answer.data(), answer.size(), 0);
  ::close(fd);
  // Only a whole answer to this question is believed.
  const auto* header = reinterpret_cast<const nlmsghdr*>(answer.data());
  const bool is_answer = size >= static_cast<ssize_t>(NLMSG_LENGTH(sizeof(inet_diag_msg))) &&
                         header->nlmsg_type == SOCK_DIAG_BY_FAMILY;
  if (!is_answer) return std::nullopt;
  inet_diag_msg message{};
  std::memcpy(&message, answer.data() + NLMSG_HDRLEN, sizeof message);
  return UserId(message.idiag_uid);
}

}  // namespace

TcpPeer tcp_peer(kj::AsyncIoStream& connection) {
  sockaddr_storage theirs{};
  sockaddr_storage ours{};
  // Throws for what is no socket.
  const auto failed = kj::runCatchingExceptions([&] {
    kj::uint size = sizeof theirs;
    connection.getpeername(reinterpret_cast<sockaddr*>(&theirs), &size);
    size = sizeof ours;
    connection.getsockname(reinterpret_cast<sockaddr*>(&ours), &size);
  });
  const auto peer = failed == nullptr ? end_of(theirs) : std::nullopt;
  const auto own = failed == nullptr ? end_of(ours) : std::nullopt;
  if (!peer || !own) return {};
  TcpPeer found;
  found.name = network_of(*peer);
  // From one of this machine's own addresses to the same one.
  found.is_on_this_machine = peer->is_loopback() || peer->address == own->address;
  if (found.is_on_this_machine) found.user = user_of_socket(*peer, *own);
  if (found.user) found.name = fmt::format("user {}", found.user->value());
  return found;
}

}  // namespace muster

// What holds a port is found in the kernel's tables, because an attempt to bind says only that
// somebody does.
#include "wire/listeners.h"

#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace muster {
namespace {

// The state TCP_LISTEN. Source: proc(5), /proc/net/tcp.
constexpr std::string_view kListen = "0A";
constexpr std::size_t kV4Offset = 12;  ///< of an IPv4 address in its mapped form

TcpEndpoint mapped(const void* v4, std::uint16_t port) {
  TcpEndpoint endpoint{{}, port, false};
  endpoint.host[10] = endpoint.host[11] = 0xff;
  std::memcpy(endpoint.host.data() + kV4Offset, v4, 4);
  return endpoint;
}

bool is_zero(const std::uint8_t* begin, const std::uint8_t* end) {
  return std::all_of(begin, end, [](std::uint8_t byte) { return byte == 0; });
}
bool holds_v4(const TcpEndpoint& endpoint) {
  return is_zero(endpoint.host.data(), endpoint.host.data() + 10) && endpoint.host[10] == 0xff &&
         endpoint.host[11] == 0xff;
}
/// True: `wide` is a wildcard that holds the other's host.
bool holds(const TcpEndpoint& wide, const TcpEndpoint& host) {
  if (is_any_v6(wide)) return true;
  return holds_v4(wide) &&
         is_zero(wide.host.data() + kV4Offset, wide.host.data() + wide.host.size()) &&
         holds_v4(host);
}

template <class Number>
bool parse_number(std::string_view text, Number& number, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size();
}

/// The kernel prints addresses as numbers of 32 bits in this machine's order.
bool parse_endpoint(std::string_view text, bool is_v6, TcpEndpoint& endpoint) {
  const std::size_t words = is_v6 ? 4 : 1;
  // Eight digits a word, a colon and four digits of the port.
  if (text.size() != words * 8 + 5 || text[words * 8] != ':') return false;
  std::array<std::uint8_t, 16> host{};
  for (std::size_t i = 0; i < words; ++i) {
    std::uint32_t word = 0;
    if (!parse_number(text.substr(i * 8, 8), word, 16)) return false;
    std::memcpy(host.data() + i * 4, &word, 4);
  }
  std::uint16_t port = 0;
  if (!parse_number(text.substr(words * 8 + 1), port, 16)) return false;
  endpoint = is_v6 ? TcpEndpoint{host, port, true} : mapped(host.data(), port);
  return true;
}

}  // namespace

TcpEndpoint endpoint_of(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return mapped(&v4->sin_addr, ntohs(v4->sin_port));
  }
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  TcpEndpoint endpoint{{}, ntohs(v6->sin6_port), true};
  std::memcpy(endpoint.host.data(), &v6->sin6_addr, endpoint.host.size());
  return endpoint;
}

bool is_any_v6(const TcpEndpoint& endpoint) {
  return is_zero(endpoint.host.data(), endpoint.host.data() + endpoint.host.size());
}

bool overlap(const TcpEndpoint& one, const TcpEndpoint& other) {
  return one.port == other.port &&
         (one.host == other.host || holds(one, other) || holds(other, one));
}

std::vector<ListeningSocket> parse_listeners(std::string_view table, bool is_v6) {
  std::vector<ListeningSocket> found;
  std::istringstream lines{std::string(table)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    // sl local_address rem_address st queues timer retransmits uid timeout inode
    const std::vector<std::string> columns{std::istream_iterator<std::string>(words), {}};
    ListeningSocket socket;
    if (columns.size() > 9 && columns[3] == kListen &&
        parse_endpoint(columns[1], is_v6, socket.endpoint) &&
        parse_number(std::string_view(columns[9]), socket.inode, 10)) {
      found.push_back(socket);
    }
  }
  return found;
}

std::vector<ListeningSocket> listeners() {
  std::vector<ListeningSocket> found;
  for (const bool is_v6 : {false, true}) {
    std::ifstream file(is_v6 ? "/proc/net/tcp6" : "/proc/net/tcp");
    const std::string table((std::istreambuf_iterator<char>(file)), {});
    for (ListeningSocket& socket : parse_listeners(table, is_v6)) found.push_back(socket);
  }
  return found;
}

}  // namespace muster

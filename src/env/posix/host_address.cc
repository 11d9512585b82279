// IPv4 before IPv6, in the kernel's order of interfaces; addresses that only this machine or link
// can use are passed over.
#include "env/posix/host_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <array>

namespace muster {
namespace {

bool is_usable(const ifaddrs& entry, int family) {
  if (entry.ifa_addr == nullptr || entry.ifa_addr->sa_family != family) return false;
  if ((entry.ifa_flags & IFF_UP) == 0 || (entry.ifa_flags & IFF_LOOPBACK) != 0) return false;
  return family == AF_INET ||
         !IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr)->sin6_addr);
}

std::string text_of(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes =
      address.sa_family == AF_INET
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr)
          : static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  return ::inet_ntop(address.sa_family, bytes, text.data(), text.size()) == nullptr
             ? std::string()
             : std::string(text.data());
}

}  // namespace

std::string host_address() {
  std::string found;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) == 0) {
    for (const int family : {AF_INET, AF_INET6}) {
      for (const ifaddrs* entry = all; entry != nullptr && found.empty(); entry = entry->ifa_next) {
        if (is_usable(*entry, family)) found = text_of(*entry->ifa_addr);
      }
    }
    ::freeifaddrs(all);
  }
  return found.empty() ? "127.0.0.1" : found;
}

}  // namespace muster

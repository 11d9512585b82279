// Finds the address at which others reach this host.
#pragma once

#include <string>

namespace muster {

/// Returns an IP address as text: the first IPv4 one of an interface that is up and not the
/// loopback, in the kernel's order, else such an IPv6 one that is not link-local, else 127.0.0.1.
/// Names are not looked up: their servers may be slow or wrong.
std::string host_address();

}  // namespace muster

#include "env/posix/host_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <array>

namespace muster {
namespace {

TEST(HostAddress, IsAnAddressAndNoName) {
  const std::string address = host_address();
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  const int family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
  EXPECT_EQ(::inet_pton(family, address.c_str(), bytes.data()), 1) << address;
}

}  // namespace
}  // namespace muster

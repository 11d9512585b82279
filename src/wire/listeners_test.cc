#include "wire/listeners.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "wire/socket.h"

namespace muster {
namespace {

TcpEndpoint v4(const char* host, std::uint16_t port = 80) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  EXPECT_EQ(::inet_pton(AF_INET, host, &address.sin_addr), 1) << host;
  return endpoint_of(reinterpret_cast<const sockaddr*>(&address));
}
TcpEndpoint v6(const char* host, std::uint16_t port = 80) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  EXPECT_EQ(::inet_pton(AF_INET6, host, &address.sin6_addr), 1) << host;
  return endpoint_of(reinterpret_cast<const sockaddr*>(&address));
}

TEST(Listeners, AddressesOverlapThatCannotBothBeListenedOn) {
  const auto both_ways = [](const TcpEndpoint& one, const TcpEndpoint& other) {
    EXPECT_EQ(overlap(one, other), overlap(other, one));
    return overlap(one, other);
  };
  EXPECT_TRUE(both_ways(v4("127.0.0.1"), v4("127.0.0.1")));
  EXPECT_TRUE(both_ways(v4("127.0.0.1"), v4("0.0.0.0")));
  EXPECT_TRUE(both_ways(v4("127.0.0.1"), v6("::")));
  EXPECT_TRUE(both_ways(v4("127.0.0.1"), v6("::ffff:127.0.0.1")));
  EXPECT_TRUE(both_ways(v4("0.0.0.0"), v6("::")));
  EXPECT_TRUE(both_ways(v6("::1"), v6("::")));
  EXPECT_FALSE(both_ways(v4("127.0.0.1"), v4("127.0.0.2")));
  EXPECT_FALSE(both_ways(v4("127.0.0.1"), v4("127.0.0.1", 81)));
  EXPECT_FALSE(both_ways(v4("0.0.0.0"), v6("::1")));
  EXPECT_FALSE(both_ways(v4("0.0.0.0"), v4("0.0.0.0", 81)));
  EXPECT_FALSE(both_ways(v6("::1"), v6("::2")));
}

/// As a little-endian machine prints it.
TEST(Listeners, AreReadFromTheKernelsTables) {
  const std::string heading =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode\n";
  const auto found =
      parse_listeners(heading +
                          "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 "
                          "00000000  1000        0 31337 1 0 100 0 0 10 0\n"
                          "   1: 0100007F:1F91 0100007F:C350 01 00000000:00000000 00:00000000 "
                          "00000000  1000        0 31338 1 0 20 4 30 10 -1\n"
                          "   2: cut short\n"
                          "   3: 0100007F:1F9X 00000000:0000 0A 00000000:00000000 00:00000000 "
                          "00000000  1000        0 31339 1 0 100 0 0 10 0\n",
                      false);
  ASSERT_EQ(found.size(), 1U) << "established ones and broken lines are none";
  EXPECT_EQ(found[0].inode, 31337U);
  EXPECT_TRUE(overlap(found[0].endpoint, v4("127.0.0.1", 8080)));
  const auto found6 = parse_listeners(
      heading +
          "   0: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A "
          "00000000:00000000 00:00000000 00000000     0        0 7 1 0 100\n",
      true);
  ASSERT_EQ(found6.size(), 1U);
  EXPECT_TRUE(overlap(found6[0].endpoint, v6("::1")));
  EXPECT_FALSE(overlap(found6[0].endpoint, v6("::2")));
}

TEST(Listeners, OurOwnAreAmongThem) {
  const auto listener = listen_tcp("127.0.0.1:0");
  ASSERT_TRUE(listener.has_value()) << listener.error().text();
  struct stat about {};
  ASSERT_EQ(::fstat(listener->fd, &about), 0);
  const auto all = listeners();
  EXPECT_TRUE(std::ranges::any_of(
      all, [&](const ListeningSocket& socket) { return socket.inode == about.st_ino; }));
  ::close(listener->fd);
}

class CheckListen : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto listener = listen_tcp("127.0.0.1:0");
    ASSERT_TRUE(listener.has_value()) << listener.error().text();
    own_ = listener->fd;
    port_ = listener->address.substr(listener->address.rfind(':'));
  }
  void TearDown() override { ::close(own_); }
  bool could_listen(const std::string& host) const {
    return check_listen(host + port_, std::array{own_}).has_value();
  }

  int own_ = -1;
  std::string port_;  ///< with its colon
};

TEST_F(CheckListen, OurOwnSocketIsInNobodysWay) {
  EXPECT_TRUE(could_listen("127.0.0.1"));
  EXPECT_TRUE(could_listen("127.0.0.2"));
  EXPECT_TRUE(could_listen("0.0.0.0"));
  EXPECT_TRUE(check_listen("127.0.0.1:0", {}).has_value());
  EXPECT_FALSE(check_listen("127.0.0.1" + port_, {}).has_value()) << "it is another's then";
  EXPECT_FALSE(could_listen("192.0.2.1")) << "an address of another machine";
}

/// One that shares its port lets others in that share theirs: a listener of ours does not.
TEST_F(CheckListen, AnothersSocketIsAlthoughItSharesItsPort) {
  for (const int shares : {0, 1}) {
    const int other = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::setsockopt(other, SOL_SOCKET, SO_REUSEPORT, &shares, sizeof shares), 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoul(port_.substr(1))));
    ASSERT_EQ(::inet_pton(AF_INET, "127.0.0.3", &address.sin_addr), 1);
    ASSERT_EQ(::bind(other, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(other, 1), 0);
    EXPECT_FALSE(could_listen("127.0.0.3")) << shares;
    EXPECT_FALSE(could_listen("0.0.0.0")) << "ours and another's are in the way";
    EXPECT_TRUE(could_listen("127.0.0.1")) << shares;
    ::close(other);
  }
}

/// Whoever listens for IPv6 alone, as web servers do beside IPv4, is in nobody else's way.
TEST_F(CheckListen, OneOfIpv6AloneIsInNobodysWay) {
  const int other = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (other < 0) GTEST_SKIP() << "this machine has no IPv6";
  const int yes = 1;
  ASSERT_EQ(::setsockopt(other, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes), 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(static_cast<std::uint16_t>(std::stoul(port_.substr(1))));
  if (::bind(other, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    GTEST_SKIP() << "this machine has no IPv6";
  ASSERT_EQ(::listen(other, 1), 0);
  EXPECT_TRUE(could_listen("127.0.0.1"));
  EXPECT_TRUE(could_listen("0.0.0.0"));
  EXPECT_FALSE(could_listen("[::]"));
  ::close(other);
}

TEST_F(CheckListen, NobodyGetsInBesideOurOwnAfterwards) {
  EXPECT_TRUE(could_listen("0.0.0.0"));
  const int thief = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ASSERT_EQ(::setsockopt(thief, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes), 0);
  ASSERT_EQ(::setsockopt(thief, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoul(port_.substr(1))));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_NE(::bind(thief, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(thief);
}

}  // namespace
}  // namespace muster

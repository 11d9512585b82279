// Sockets that a process goes on with are told apart by where they listen.
#include "wire/handed_sockets.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace muster {
namespace {

/// What HTTP's two listeners are: one for each position.
struct Before {
  std::array<TcpListener, 2> sockets{listen_tcp("127.0.0.1:0").value(),
                                     listen_tcp("127.0.0.1:0").value()};
  HandedSockets handed{{sockets[0].fd, sockets[1].fd}};
};

bool accepts_connections(const TcpListener& listener) {
  const auto connected = connect_to(listener.address);
  if (!connected.has_value()) return false;
  const kj::AutoCloseFd client(*connected);
  return kj::AutoCloseFd(::accept(listener.fd, nullptr, nullptr)).get() >= 0;
}

TEST(HandedSockets, WhereOneListensItGoesOnWithWhoWaits) {
  Before before;
  const kj::AutoCloseFd waiting(connect_to(before.sockets[1].address).value());
  const auto again = before.handed.listen(before.sockets[1].address, 0);
  ASSERT_TRUE(again.has_value()) << again.error().text();
  const kj::AutoCloseFd held(again->fd);
  EXPECT_EQ(again->address, before.sockets[1].address);
  EXPECT_NE(again->fd, before.sockets[1].fd) << "it is the caller's own";
  EXPECT_TRUE((::fcntl(again->fd, F_GETFD) & FD_CLOEXEC) != 0);
  before.handed = HandedSockets();
  EXPECT_GE(kj::AutoCloseFd(::accept(again->fd, nullptr, nullptr)).get(), 0)
      << "who connected before is served";
  EXPECT_TRUE(accepts_connections(*again));
}

TEST(HandedSockets, AnyPortIsTheOneOfItsPosition) {
  Before before;
  for (const std::size_t position : {1U, 0U}) {
    const auto again = before.handed.listen("127.0.0.1:0", position);
    ASSERT_TRUE(again.has_value());
    const kj::AutoCloseFd held(again->fd);
    EXPECT_EQ(again->address, before.sockets[position].address);
  }
  const auto elsewhere = before.handed.listen("127.0.0.2:0", 0);
  ASSERT_TRUE(elsewhere.has_value());
  const kj::AutoCloseFd held(elsewhere->fd);
  EXPECT_TRUE(elsewhere->address.starts_with("127.0.0.2:")) << "another host is another address";
  EXPECT_TRUE(accepts_connections(*elsewhere));
}

TEST(HandedSockets, OneIsGivenOnceUntilItStartsOver) {
  Before before;
  for (int round = 0; round < 2; ++round) {
    const auto first = before.handed.listen(before.sockets[1].address, 0);
    ASSERT_TRUE(first.has_value());
    const kj::AutoCloseFd held(first->fd);
    EXPECT_EQ(first->address, before.sockets[1].address);
    EXPECT_FALSE(before.handed.listen(before.sockets[1].address, 1).has_value());
    const auto other = before.handed.listen("127.0.0.1:0", 1);
    ASSERT_TRUE(other.has_value()) << other.error().text();
    const kj::AutoCloseFd held_too(other->fd);
    EXPECT_NE(other->address, first->address) << "any port is another one";
    before.handed.start_over();
  }
  // Two sockets of one address: what an earlier fault has left.
  HandedSockets doubled({::dup(before.sockets[0].fd), ::dup(before.sockets[0].fd)});
  const auto first = doubled.listen("127.0.0.1:0", 0);
  const auto other = doubled.listen("127.0.0.1:0", 1);
  ASSERT_TRUE(first.has_value() && other.has_value());
  const kj::AutoCloseFd held(first->fd);
  const kj::AutoCloseFd held_too(other->fd);
  EXPECT_EQ(first->address, before.sockets[0].address);
  EXPECT_NE(other->address, first->address);
}

TEST(HandedSockets, WhatStandsInTheWayIsClosedAndCanBeOpenedAgain) {
  Before before;
  const std::string last = before.sockets[0].address;
  const std::string wider = "0.0.0.0" + last.substr(last.rfind(':'));
  {
    const auto silent = listen_tcp("127.0.0.3" + last.substr(last.rfind(':')));
    ASSERT_TRUE(silent.has_value());
    const kj::AutoCloseFd held(silent->fd);
    EXPECT_FALSE(before.handed.listen(wider, 0).has_value());
    const auto again = before.handed.listen(last, 0);
    ASSERT_TRUE(again.has_value()) << again.error().text();
    const kj::AutoCloseFd held_again(again->fd);
    EXPECT_TRUE(accepts_connections(*again));
  }
  const auto wide = before.handed.listen(wider, 0);
  ASSERT_TRUE(wide.has_value()) << wide.error().text();
  const kj::AutoCloseFd held(wide->fd);
  EXPECT_TRUE(accepts_connections(*wide));
  EXPECT_TRUE(before.handed.listen(before.sockets[1].address, 1).has_value())
      << "another port stands in nobody's way";
}

TEST(HandedSockets, TakesNothingThatDoesNotListen) {
  int pair[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  const kj::AutoCloseFd other(pair[1]);
  const int plain = ::socket(AF_INET, SOCK_STREAM, 0);
  HandedSockets handed({pair[0], plain, -1, STDERR_FILENO});
  EXPECT_GE(::fcntl(STDERR_FILENO, F_GETFD), 0);
  EXPECT_LT(::fcntl(plain, F_GETFD), 0) << "it is closed";
  EXPECT_LT(::fcntl(pair[0], F_GETFD), 0);
  const auto listener = handed.listen("127.0.0.1:0", 0);
  ASSERT_TRUE(listener.has_value());
  const kj::AutoCloseFd held(listener->fd);
  EXPECT_TRUE(accepts_connections(*listener));
}

}  // namespace
}  // namespace muster

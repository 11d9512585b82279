#include "wire/tcp_peer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "wire/socket.h"

namespace muster {
namespace {

TcpPeer peer_by(const std::string& listen) {
  auto io = kj::setupAsyncIo();
  const auto opened = listen_tcp(listen);
  if (!opened.has_value()) return {};
  auto receiver = io.lowLevelProvider->wrapListenSocketFd(
      opened->fd, kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP);
  auto accepted = receiver->accept();
  auto client = io.provider->getNetwork()
                    .parseAddress(opened->address.c_str())
                    .wait(io.waitScope)
                    ->connect()
                    .wait(io.waitScope);
  auto connection = accepted.wait(io.waitScope);
  return tcp_peer(*connection);
}

TEST(TcpPeer, OfThisMachineIsAUser) {
  const TcpPeer peer = peer_by("127.0.0.1:0");
  EXPECT_TRUE(peer.is_on_this_machine);
  ASSERT_TRUE(peer.user.has_value()) << "the kernel answers sock_diag(7)";
  EXPECT_EQ(peer.user->value(), ::geteuid());
  EXPECT_EQ(peer.name, "user " + std::to_string(::geteuid()));
}

TEST(TcpPeer, OfWhatIsNoTcpIsNotKnown) {
  auto io = kj::setupAsyncIo();
  auto pipe = io.provider->newTwoWayPipe();
  EXPECT_EQ(tcp_peer(*pipe.ends[0]).name, "");
  EXPECT_FALSE(tcp_peer(*pipe.ends[0]).is_on_this_machine);
}

}  // namespace
}  // namespace muster

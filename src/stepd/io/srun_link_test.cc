#include "stepd/io/srun_link.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <sys/socket.h>
#include <unistd.h>

namespace muster {
namespace {

TEST(SrunLink, AnSrunThatIsGoneIsFoundOutWithoutAThrow) {
  auto io = kj::setupAsyncIo();
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
  SrunLink link(
      io.lowLevelProvider->wrapSocketFd(fds[0], kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP));
  ::close(fds[1]);
  EXPECT_NO_THROW(link.send(FrameKind::kNotice, 0, "a line"));
  link.flushed().wait(io.waitScope);
  EXPECT_NO_THROW(link.send(FrameKind::kNotice, 0, "another"));
  link.room().wait(io.waitScope);
}

TEST(SrunLink, AnSrunThatDiesWithOutputUnreadIsAnEndLikeAnyOther) {
  auto io = kj::setupAsyncIo();
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
  SrunLink link(
      io.lowLevelProvider->wrapSocketFd(fds[0], kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP));
  auto running =
      link.run([](Frame) {}).then([] { return true; }, [](kj::Exception&&) { return false; });
  link.send(FrameKind::kNotice, 0, "which nobody reads");
  link.flushed().wait(io.waitScope);
  ::close(fds[1]);
  EXPECT_TRUE(running.wait(io.waitScope));
}

TEST(SrunLink, OneThatHasDiedSoBeforeItIsReadIsNoOther) {
  auto io = kj::setupAsyncIo();
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
  SrunLink link(
      io.lowLevelProvider->wrapSocketFd(fds[0], kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP));
  link.send(FrameKind::kNotice, 0, "which nobody reads");
  link.flushed().wait(io.waitScope);
  ::close(fds[1]);
  EXPECT_NO_THROW(link.run([](Frame) {}).wait(io.waitScope));
}

}  // namespace
}  // namespace muster

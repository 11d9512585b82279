#include "wire/message_link.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <utility>

namespace muster {
namespace {

/// A link, and the bare descriptor of the other end.
class LinkTest : public ::testing::Test {
 protected:
  LinkTest() : io_(kj::setupAsyncIo()) {
    int fds[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    link_ = std::make_unique<MessageLink>(io_.lowLevelProvider->wrapSocketFd(
        fds[0], kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP |
                    kj::LowLevelAsyncIoProvider::ALREADY_CLOEXEC |
                    kj::LowLevelAsyncIoProvider::ALREADY_NONBLOCK));
    peer_ = fds[1];
  }
  ~LinkTest() noexcept override { close_peer(); }
  void close_peer() {
    if (peer_ >= 0) ::close(std::exchange(peer_, -1));
  }
  /// What the waiting for all to be written comes to within a second; nothing when it is rejected
  /// or does not end.
  std::optional<bool> answer_of(kj::Promise<bool> promise) {
    std::optional<bool> answer;
    const bool is_answered =
        is_fulfilled(promise.then([&](bool is_written) { answer = is_written; }));
    return is_answered ? answer : std::nullopt;
  }
  /// True when the promise is fulfilled within a second, false when it is rejected or nothing
  /// happens.
  bool is_fulfilled(kj::Promise<void> promise) {
    auto late = io_.provider->getTimer().afterDelay(1 * kj::SECONDS).then([] { return false; });
    auto done = promise.then([] { return true; }, [](kj::Exception&&) { return false; });
    return done.exclusiveJoin(kj::mv(late)).wait(io_.waitScope);
  }

  kj::AsyncIoContext io_;
  std::unique_ptr<MessageLink> link_;
  int peer_ = -1;
};

TEST_F(LinkTest, APeerThatDiesWithWordsUnreadIsAnEndLikeAnyOther) {
  auto running = link_->run([](std::string) {});
  link_->send("which nobody reads");
  ASSERT_EQ(answer_of(link_->flushed()), true);
  close_peer();  // the kernel tells us by a reset connection
  EXPECT_TRUE(is_fulfilled(kj::mv(running)));
}

TEST_F(LinkTest, OneThatHasDiedSoBeforeItIsReadIsNoOther) {
  link_->send("which nobody reads");
  ASSERT_EQ(answer_of(link_->flushed()), true);
  close_peer();
  EXPECT_NO_THROW(EXPECT_TRUE(is_fulfilled(link_->run([](std::string) {}))));
}

TEST_F(LinkTest, WaitingForWhatCannotBeWrittenEnds) {
  link_->send(std::string(4U << 20, 'x'));  // more than the socket takes
  auto flushed = link_->flushed();
  close_peer();
  EXPECT_EQ(answer_of(kj::mv(flushed)), false);
  EXPECT_EQ(answer_of(link_->flushed()), false);
}

TEST_F(LinkTest, WaitingEndsWithTheLink) {
  link_->send(std::string(4U << 20, 'x'));
  auto flushed = link_->flushed();
  link_.reset();
  EXPECT_EQ(answer_of(kj::mv(flushed)), false);
}

TEST_F(LinkTest, AMalformedMessageEndsTheReading) {
  auto running = link_->run([](std::string) {});
  ASSERT_EQ(::write(peer_, "\xff\xff\xff\xff", 4), 4);
  EXPECT_TRUE(is_fulfilled(kj::mv(running)));
}

TEST_F(LinkTest, MessagesComeWholeAndInOrder) {
  std::vector<std::string> seen;
  auto running = link_->run([&](std::string bytes) { seen.push_back(std::move(bytes)); });
  ASSERT_EQ(::write(peer_, "\2\0\0\0ab\0\0\0\0\1\0\0\0", 14), 14);
  ASSERT_EQ(::write(peer_, "c", 1), 1);
  close_peer();
  EXPECT_TRUE(is_fulfilled(kj::mv(running)));
  EXPECT_EQ(seen, (std::vector<std::string>{"ab", "", "c"}));
}

}  // namespace
}  // namespace muster

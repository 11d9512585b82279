#include "env/channel.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <thread>

namespace muster {
namespace {

bool is_readable(int fd, int timeout_ms) {
  pollfd poll_fd{fd, POLLIN, 0};
  return ::poll(&poll_fd, 1, timeout_ms) == 1;
}

TEST(Channel, KeepsTheOrderAndWakesItsReader) {
  Channel<int> channel;
  EXPECT_FALSE(is_readable(channel.fd(), 0));
  for (int i = 0; i < 3; ++i) channel.push(i);
  EXPECT_TRUE(is_readable(channel.fd(), 0));
  EXPECT_EQ(channel.take(), (std::vector<int>{0, 1, 2}));
  EXPECT_FALSE(is_readable(channel.fd(), 0));
  EXPECT_TRUE(channel.take().empty());
}

/// Meant for ThreadSanitizer: what is pushed is seen whole, once, in each sender's order, and no wake-up is missed.
TEST(Channel, ManySendersLoseNothing) {
  constexpr std::size_t kSenders = 4;
  constexpr int kEach = 20'000;
  Channel<std::unique_ptr<std::pair<std::size_t, int>>> channel;
  std::vector<std::jthread> senders;
  for (std::size_t s = 0; s < kSenders; ++s) {
    senders.emplace_back([&channel, s] {
      for (int i = 0; i < kEach; ++i) channel.push(std::make_unique<std::pair<std::size_t, int>>(s, i));
    });
  }
  std::vector<int> next(kSenders, 0);
  std::size_t total = 0;
  while (total < kSenders * kEach) {
    ASSERT_TRUE(is_readable(channel.fd(), 10'000)) << "a wake-up was missed after " << total;
    for (const auto& value : channel.take()) {
      EXPECT_EQ(value->second, next[value->first]++);
      ++total;
    }
  }
  EXPECT_TRUE(channel.take().empty());
}

}  // namespace
}  // namespace muster

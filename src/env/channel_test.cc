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
  EXPECT_EQ(channel.receive_all(), (std::vector<int>{0, 1, 2}));
  EXPECT_FALSE(is_readable(channel.fd(), 0));
  EXPECT_TRUE(channel.receive_all().empty());
}

/// Meant for ThreadSanitizer: what is pushed is seen whole, once, in each sender's order, and no
/// wake-up is missed.
TEST(Channel, TellsHowManyWait) {
  Channel<int> channel;
  channel.push(1);
  channel.push(2);
  EXPECT_EQ(channel.size(), 2U);
  channel.receive_all();
  EXPECT_EQ(channel.size(), 0U);
}

TEST(Credits, ASenderWaitsUntilTheReceiverHasKeptUp) {
  constexpr int kCredits = 4;
  constexpr int kValues = 1000;
  Credits credits(kCredits);
  Channel<int> channel;
  std::thread sender([&] {
    for (int i = 0; i < kValues; ++i) {
      credits.acquire();
      channel.push(i);
    }
  });
  int received = 0;
  while (received < kValues) {
    const std::vector<int> values = channel.receive_all();
    EXPECT_LE(values.size(), static_cast<std::size_t>(kCredits));
    for (const int value : values) {
      EXPECT_EQ(value, received++);
      credits.release();
    }
  }
  sender.join();
}

TEST(Channel, ManySendersLoseNothing) {
  constexpr std::size_t kSenders = 4;
  constexpr int kEach = 20'000;
  Channel<std::unique_ptr<std::pair<std::size_t, int>>> channel;
  std::vector<std::jthread> senders;
  for (std::size_t s = 0; s < kSenders; ++s) {
    senders.emplace_back([&channel, s] {
      for (int i = 0; i < kEach; ++i)
        channel.push(std::make_unique<std::pair<std::size_t, int>>(s, i));
    });
  }
  std::vector<int> next(kSenders, 0);
  std::size_t total = 0;
  while (total < kSenders * kEach) {
    ASSERT_TRUE(is_readable(channel.fd(), 10'000)) << "a wake-up was missed after " << total;
    for (const auto& value : channel.receive_all()) {
      EXPECT_EQ(value->second, next[value->first]++);
      ++total;
    }
  }
  EXPECT_TRUE(channel.receive_all().empty());
}

}  // namespace
}  // namespace muster

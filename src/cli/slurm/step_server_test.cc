#include "cli/slurm/step_server.h"

#include <gtest/gtest.h>
#include <kj/timer.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/socket.h"

namespace muster::cli {
namespace {

/// A server with supervisors that are descriptors in the test's hand.
struct StepServerTest : ::testing::Test {
  StepServerTest() {
    StepEvents events;
    events.joined = [this](std::uint32_t) { ++joined; };
    events.frame = [](std::uint32_t, Frame) {};
    events.lost = [this](std::uint32_t node) { lost.push_back(node); };
    server = std::move(StepServer::create(io, std::move(events)).value());
  }
  ~StepServerTest() noexcept override = default;

  int join(std::uint32_t node) {
    const int fd = connect_to(server->address()).value();
    send(fd, FrameKind::kHello, 0, server->key() + " " + std::to_string(node));
    const std::size_t before = joined;
    until([&] { return joined > before; });
    return fd;
  }
  static void send(int fd, FrameKind kind, std::uint32_t task, const std::string& payload) {
    std::string bytes;
    append_frame(bytes, kind, task, payload);
    EXPECT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  /// Reads what is there and forgets it.
  static std::size_t drain(int fd) {
    std::string buffer(1U << 20, '\0');
    std::size_t total = 0;
    for (ssize_t size = 0; (size = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0;)
      total += static_cast<std::size_t>(size);
    return total;
  }
  template <class Done>
  void until(Done done) {
    bool is_done = done();
    for (int i = 0; i < 500 && !is_done; ++i) {
      pass();
      is_done = done();
    }
    EXPECT_TRUE(is_done);
  }
  void pass() { io.provider->getTimer().afterDelay(2 * kj::MILLISECONDS).wait(io.waitScope); }
  /// Sends input until the server says that there is no room. The bytes sent.
  std::size_t fill(kj::Promise<void>& room) {
    std::size_t sent = 0;
    const std::string chunk(64 * 1024, 'x');
    while (sent < (8U << 20)) {
      room = server->room();
      if (!room.poll(io.waitScope)) return sent;
      server->send_all(FrameKind::kInput, kAllTasks, chunk);
      sent += chunk.size();
    }
    return sent;
  }

  kj::AsyncIoContext io = kj::setupAsyncIo();
  std::unique_ptr<StepServer> server;
  std::size_t joined = 0;
  std::vector<std::uint32_t> lost;
};

TEST_F(StepServerTest, ASupervisorThatIsGoneIsNobodyElsesTrouble) {
  const int gone = join(0);
  const int here = join(1);
  ::close(gone);
  EXPECT_NO_THROW(server->send_all(FrameKind::kInput, kAllTasks, "hello"));
  until([&] { return drain(here) == kFrameHeader + 5; });
  until([&] { return lost == std::vector<std::uint32_t>{0}; });
  EXPECT_NO_THROW(server->send(0, FrameKind::kInputEnd, kAllTasks, ""));
  ::close(here);
}

TEST_F(StepServerTest, InputWaitsForTheTasksToTakeIt) {
  const int fd = join(0);
  kj::Promise<void> room = kj::READY_NOW;
  const std::size_t sent = fill(room);
  EXPECT_EQ(sent, kInputWindow);
  until([&] { return drain(fd) > 0; });
  EXPECT_FALSE(room.poll(io.waitScope));  // received is not yet taken
  send(fd, FrameKind::kInputTaken, 64 * 1024, "");
  until([&] { return room.poll(io.waitScope); });
  ::close(fd);
}

TEST_F(StepServerTest, NobodyWaitsForASupervisorThatHasEnded) {
  const int slow = join(0);
  const int fast = join(1);
  kj::Promise<void> room = kj::READY_NOW;
  const auto sent = static_cast<std::uint32_t>(fill(room));
  send(fast, FrameKind::kInputTaken, sent, "");
  pass();
  EXPECT_FALSE(room.poll(io.waitScope));
  ::close(slow);
  until([&] { return room.poll(io.waitScope); });
  ::close(fast);
}

}  // namespace
}  // namespace muster::cli

#include "wire/acceptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <kj/debug.h>
#include <kj/io.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wire/socket.h"

namespace muster {
namespace {

/// Descriptors from `used` on are refused while it lives.
class OpenFilesMax {
 public:
  explicit OpenFilesMax(int used) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit low = before_;
    low.rlim_cur = static_cast<rlim_t>(used);
    ::setrlimit(RLIMIT_NOFILE, &low);
  }
  ~OpenFilesMax() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  OpenFilesMax(const OpenFilesMax&) = delete;
  OpenFilesMax& operator=(const OpenFilesMax&) = delete;

 private:
  rlimit before_{};
};

int lowest_free_descriptor() {
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(fd);
  return fd;
}

struct AcceptorTest : ::testing::Test, kj::TaskSet::ErrorHandler {
  AcceptorTest() {
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    listen_fd = kj::AutoCloseFd(listen_unix(folder + "/s", 0600).value());
    acceptor.emplace(
        io, listen_fd.get(),
        [this](int fd) {
          adopted.emplace_back(fd);
          if (std::exchange(is_first_gone, false))
            kj::throwFatalException(KJ_EXCEPTION(DISCONNECTED, "read: reset"));
        },
        [this](int error) { shortages.push_back(error); });
    tasks.emplace(*this);
    tasks->add(acceptor->run());
  }
  ~AcceptorTest() noexcept override { std::filesystem::remove_all(folder); }
  void taskFailed(kj::Exception&& exception) override {
    ADD_FAILURE() << exception.getDescription().cStr();
  }

  template <class Done>
  void until(Done done) {
    for (int i = 0; i < 500 && !done(); ++i) pass(10);
    EXPECT_TRUE(done());
  }
  void pass(int ms) {
    io.provider->getTimer().afterDelay(ms * kj::MILLISECONDS).wait(io.waitScope);
  }

  std::string folder = "/tmp/muster-acceptor-XXXXXX";
  kj::AsyncIoContext io = kj::setupAsyncIo();
  kj::AutoCloseFd listen_fd;
  std::vector<kj::AutoCloseFd> adopted;
  std::vector<int> shortages;
  bool is_first_gone = false;  ///< before it is adopted
  std::optional<Acceptor> acceptor;
  std::optional<kj::TaskSet> tasks;
};

TEST_F(AcceptorTest, LeavesOthersTheirTurnsHoweverManyCome) {
  std::vector<kj::AutoCloseFd> clients;
  for (int i = 0; i < 300; ++i) clients.emplace_back(connect_to("unix:" + folder + "/s").value());
  std::size_t most = 0;
  for (int turn = 0; turn < 1000 && adopted.size() < clients.size(); ++turn) {
    const std::size_t before = adopted.size();
    pass(0);
    most = std::max(most, adopted.size() - before);
  }
  EXPECT_EQ(adopted.size(), clients.size());
  EXPECT_LE(most, 128U);
}

TEST_F(AcceptorTest, OneThatIsGoneAtOnceIsTheEndOfNoOther) {
  is_first_gone = true;
  std::vector<kj::AutoCloseFd> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(connect_to("unix:" + folder + "/s").value());
  until([&] { return adopted.size() == 3; });
  clients.emplace_back(connect_to("unix:" + folder + "/s").value());
  until([&] { return adopted.size() == 4; });
}

TEST_F(AcceptorTest, LetsInWhoCameDuringAShortageWithoutAFurtherSign) {
  // UBSan opens a pipe when it first sees an object's type, and takes the lack of one for a fault.
  until([] { return true; });
  pass(0);
  std::vector<kj::AutoCloseFd> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(connect_to("unix:" + folder + "/s").value());
  bool was_short = false;
  std::size_t let_in = 0;
  {
    const OpenFilesMax limit(lowest_free_descriptor() + 1);  // for one of the three
    until([&] { return !shortages.empty(); });
    pass(300);
    let_in = adopted.size();
    was_short = acceptor->is_short();
  }
  EXPECT_EQ(let_in, 1U);
  EXPECT_TRUE(was_short);
  EXPECT_EQ(shortages, std::vector{EMFILE}) << "told once";
  until([&] { return adopted.size() == 3; });
  EXPECT_FALSE(acceptor->is_short());
}

}  // namespace
}  // namespace muster

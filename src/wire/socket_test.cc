#include "wire/socket.h"

#include <gtest/gtest.h>
#include <kj/io.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

namespace muster {
namespace {

/// A Unix socket that nobody accepts from, and whose queue is full: whoever connects without a
/// limit waits for ever.
class FullQueue : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = (std::filesystem::temp_directory_path() / "muster-socket.XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::strncpy(name.sun_path, path().c_str(), sizeof name.sun_path - 1);
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    ASSERT_EQ(::listen(listener_, 1), 0);
  }
  void TearDown() override {
    ::close(listener_);
    std::filesystem::remove_all(folder_);
  }
  std::string path() const { return folder_ + "/socket"; }

  std::string folder_;
  int listener_ = -1;
};

TEST_F(FullQueue, IsToldAtOnce) {
  std::vector<kj::AutoCloseFd> queued;
  auto made = connect_at_once("unix:" + path());
  for (; made.has_value() && queued.size() < 10; made = connect_at_once("unix:" + path()))
    queued.emplace_back(*made);
  ASSERT_FALSE(made.has_value()) << queued.size() << " connections wait in a queue of one";
  EXPECT_EQ(made.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(made.error().message, "cannot connect to " + path());
  EXPECT_FALSE(connect_within("unix:" + path(), Duration::seconds(60)).has_value());
}

TEST(ConnectAtOnce, TakesNoAddressThatWouldHaveToBeResolved) {
  const auto made = connect_at_once("localhost:1");
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace muster

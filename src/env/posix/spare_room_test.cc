#include "env/posix/spare_room.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

namespace muster {
namespace {

struct SpareRoom : ::testing::Test {
  SpareRoom() {
    folder = (std::filesystem::temp_directory_path() / "spare-room.XXXXXX").string();
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
  }
  ~SpareRoom() override { std::filesystem::remove_all(folder); }
  /// The code of the refusal where this process may have so much; 0: there is room.
  int refusal(__rlimit_resource resource, rlim_t most) {
    const auto handler = ::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ::getrlimit(resource, &before);
    const rlimit less{most, before.rlim_max};
    ::setrlimit(resource, &less);
    const Status found = check_room(folder, RoomToStart());
    ::setrlimit(resource, &before);
    ::signal(SIGXFSZ, handler);
    return found.has_value() ? 0 : static_cast<int>(found.error().code);
  }
  std::string folder;
};

TEST_F(SpareRoom, ItIsTakenAndGivenBack) {
  const Status found = check_room(folder, RoomToStart());
  EXPECT_TRUE(found.has_value()) << found.error().text();
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(SpareRoom, WhatIsMissingIsALackThatMayPass) {
  EXPECT_EQ(refusal(RLIMIT_NOFILE, 64), static_cast<int>(ErrorCode::kResourceExhausted));
  EXPECT_NE(refusal(RLIMIT_FSIZE, 1 << 20), 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  EXPECT_FALSE(check_room(folder + "/gone", RoomToStart()).has_value());
}

}  // namespace
}  // namespace muster

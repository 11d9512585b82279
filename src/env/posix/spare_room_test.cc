#include "env/posix/spare_room.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
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
  /// The code of the refusal in a process that may have so much; 0: it has room.
  int refusal(int resource, rlim_t most) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{most, most};
      ::setrlimit(static_cast<__rlimit_resource>(resource), &limit);
      const Status found = check_room(folder, RoomToStart());
      ::_exit(found.has_value() ? 0 : static_cast<int>(found.error().code));
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
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

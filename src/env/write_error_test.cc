#include "env/write_error.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

namespace muster {
namespace {

TEST(WriteError, ADeviceWithoutRoomMayHaveSomeLater) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full < 0) GTEST_SKIP() << "this host has no /dev/full";
  ASSERT_EQ(::write(full, "x", 1), -1);
  const Error error = write_error("/state/tokens");
  ::close(full);
  EXPECT_EQ(error.message, "cannot write /state/tokens");
  EXPECT_TRUE(is_no_room(error)) << error.text();
}

TEST(WriteError, AnotherUsersFileIsNotALackOfRoom) {
  errno = EACCES;
  EXPECT_FALSE(is_no_room(write_error("/state/tokens")));
  errno = EDQUOT;
  EXPECT_TRUE(is_no_room(write_error("/state/tokens")));
}

TEST(WriteError, KnowsSqlitesWords) {
  const auto refused = [](const char* words) {
    return Error{ErrorCode::kUnavailable, "database refused", words};
  };
  EXPECT_TRUE(is_no_room(refused("database or disk is full")));
  EXPECT_TRUE(is_no_room(refused("disk I/O error")));
  EXPECT_FALSE(is_no_room(refused("database is locked")));
}

}  // namespace
}  // namespace muster

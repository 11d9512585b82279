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
  EXPECT_EQ(error.cause, ErrorCause::kNoRoom) << error.text();
}

TEST(WriteError, AnotherUsersFileIsNotALackOfRoom) {
  errno = EACCES;
  EXPECT_EQ(write_error("/state/tokens").cause, ErrorCause::kNone);
  errno = EDQUOT;
  EXPECT_EQ(write_error("/state/tokens").cause, ErrorCause::kNoRoom);
}

}  // namespace
}  // namespace muster

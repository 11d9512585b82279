#include "env/posix/standard_streams.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bitset>

namespace muster {
namespace {

/// Closes the streams that have a bit, fills them, and ends: with 0 if exactly these are /dev/null,
/// and the next descriptor is none of the three.
[[noreturn]] void fill_and_exit(std::bitset<3> closed) {
  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) ::_exit(1);
  for (int stream = 0; stream < 3; ++stream) {
    ::dup2(pipe_ends[0], stream);
    if (closed[static_cast<std::size_t>(stream)]) ::close(stream);
  }
  open_standard_streams();
  struct stat null {};
  if (::stat("/dev/null", &null) != 0) ::_exit(2);
  for (int stream = 0; stream < 3; ++stream) {
    struct stat found {};
    if (::fstat(stream, &found) != 0) ::_exit(3);
    const bool is_null = S_ISCHR(found.st_mode) && found.st_rdev == null.st_rdev;
    if (is_null != closed[static_cast<std::size_t>(stream)]) ::_exit(4);
  }
  ::_exit(::open("/dev/null", O_RDONLY) > STDERR_FILENO ? 0 : 5);
}

TEST(StandardStreams, EachThatIsClosedBecomesDevNull) {
  for (unsigned closed = 0; closed < 8; ++closed)
    EXPECT_EXIT(fill_and_exit(closed), ::testing::ExitedWithCode(0), "") << closed;
}

}  // namespace
}  // namespace muster

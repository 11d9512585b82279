#include "env/posix/write_whole.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

namespace muster {
namespace {

/// A file without a name.
int fresh_file() {
  char path[] = "/tmp/write-whole.XXXXXX";
  const int fd = ::mkstemp(path);
  ::unlink(path);
  return fd;
}

/// Files may not grow beyond so many bytes while it lives.
struct SmallFiles {
  explicit SmallFiles(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit small{bytes, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, handler);
  }
  rlimit before{};
  sighandler_t handler = ::signal(SIGXFSZ, SIG_IGN);
};

TEST(WriteWhole, TakesAll) {
  const int fd = fresh_file();
  const std::string bytes(100'000, 'x');
  EXPECT_EQ(write_whole(fd, bytes), 0);
  EXPECT_EQ(::lseek(fd, 0, SEEK_END), 100'000);
  EXPECT_EQ(write_whole(fd, ""), 0);
  ::close(fd);
}

TEST(WriteWhole, AFileThatTookAPartHasTheCauseOfTheRest) {
  const int fd = fresh_file();
  errno = EPERM;
  int error = 0;
  {
    const SmallFiles small(10);
    error = write_whole(fd, "more than ten bytes");
  }
  EXPECT_EQ(error, EFBIG) << std::strerror(error);
  EXPECT_EQ(::lseek(fd, 0, SEEK_END), 10);
  ::close(fd);
}

TEST(WriteWhole, AFullDeviceIsNamed) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full < 0) GTEST_SKIP() << "this host has no /dev/full";
  errno = 0;
  EXPECT_EQ(write_whole(full, "x"), ENOSPC);
  ::close(full);
  EXPECT_EQ(write_whole(-1, "x"), EBADF);
}

TEST(DiskError, SaysWhetherItMayPass) {
  for (const int error : {ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM})
    EXPECT_EQ(disk_error("cannot write", error).code, ErrorCode::kResourceExhausted) << error;
  for (const int error : {EACCES, EIO, ENOENT, EROFS})
    EXPECT_EQ(disk_error("cannot write", error).code, ErrorCode::kUnavailable) << error;
  EXPECT_EQ(disk_error("cannot write /spool", ENOSPC).text(),
            "cannot write /spool: No space left on device");
}

}  // namespace
}  // namespace muster

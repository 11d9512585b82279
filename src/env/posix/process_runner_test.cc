#include "env/posix/process_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace muster {
namespace {

TEST(OpenAs, FilesOfThisProcessItselfAreRefused) {
  const std::string own = fmt::format("/proc/{}/maps", ::getpid());
  for (const std::string& path :
       {std::string("/proc/self/maps"), std::string("/proc/thread-self/maps"),
        std::string("/dev/fd/../maps"), own}) {
    const auto fd = open_as(ProcessUser{}, path, O_RDONLY, 0);
    ASSERT_FALSE(fd.has_value()) << path;
    EXPECT_EQ(fd.error().code, ErrorCode::kPermissionDenied) << path;
  }
}

TEST(OpenAs, FilesThatTellOfTheMachineAreNot) {
  const auto fd = open_as(ProcessUser{}, "/proc/cpuinfo", O_RDONLY, 0);
  ASSERT_TRUE(fd.has_value()) << fd.error().text();
  ::close(*fd);
}

}  // namespace
}  // namespace muster

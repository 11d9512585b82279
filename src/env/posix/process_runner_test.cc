#include "env/posix/process_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
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

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// With this limit on descriptors a task once kept the parent's streams: the log of a daemon.
TEST(StartProcess, ALimitOnFilesIsTheProgramsAlone) {
  const std::string path = ::testing::TempDir() + fmt::format("process_runner_{}.out", ::getpid());
  const int out = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ASSERT_GE(out, 0);
  ProcessSpec spec;
  spec.arguments = {"/bin/sh", "-c", "ulimit -Sn"};
  spec.environment = {"PATH=/usr/bin:/bin"};
  spec.user = ProcessUser{::geteuid(), ::getegid(), ""};
  spec.standard_out = spec.standard_error = out;
  spec.limits = "NOFILE=4";
  const auto pid = start_process(spec);
  ::close(out);
  ASSERT_TRUE(pid.has_value()) << pid.error().text();
  int status = 0;
  ASSERT_EQ(::waitpid(*pid, &status, 0), *pid);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text_of(path), "4\n");
  ::unlink(path.c_str());
}

/// Execvp(3) says so, too; folders of PATH are not programs.
TEST(StartProcess, AProgramWithoutANameIsNotThere) {
  ProcessSpec spec;
  spec.arguments = {""};
  spec.environment = {"PATH=/usr/bin:/bin"};
  spec.user = ProcessUser{::geteuid(), ::getegid(), ""};
  const auto pid = start_process(spec);
  ASSERT_FALSE(pid.has_value());
  EXPECT_NE(pid.error().message.find("No such file or directory"), std::string::npos)
      << pid.error().text();
}

}  // namespace
}  // namespace muster

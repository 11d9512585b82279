#include "env/posix/key_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace muster {
namespace {

/// A child that holds the key until it is killed.
pid_t start_holder(const std::string& path, std::uint64_t key) {
  int ready[2];
  EXPECT_EQ(::pipe(ready), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const char said = hold_key(path, key).has_value() ? 'y' : 'n';
    [[maybe_unused]] const auto ignored = ::write(ready[1], &said, 1);
    for (;;) ::pause();
  }
  char said = 0;
  EXPECT_EQ(::read(ready[0], &said, 1), 1);
  EXPECT_EQ(said, 'y');
  ::close(ready[0]);
  ::close(ready[1]);
  return pid;
}

TEST(KeyLock, TellsWhoLives) {
  char folder[] = "/tmp/key-lock-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/lock";
  constexpr std::uint64_t kHigh = ~std::uint64_t{0};
  EXPECT_EQ(holder_of_key(path, 1), 0) << "no file yet";
  const pid_t holder = start_holder(path, kHigh);
  EXPECT_EQ(holder_of_key(path, kHigh), holder);
  EXPECT_EQ(holder_of_key(path, 1), 0) << "another key is free";
  const auto second = hold_key(path, kHigh);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kAlreadyExists);
  ::kill(holder, SIGSTOP);
  EXPECT_EQ(holder_of_key(path, kHigh), holder) << "a process that stands still lives";
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  EXPECT_EQ(holder_of_key(path, kHigh), 0);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace muster

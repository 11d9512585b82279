#include "env/posix/marked_processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "env/posix/process_runner.h"

namespace muster {
namespace {

/// Waits until `is_so`, for ten seconds at most.
template <class Condition>
bool eventually(Condition is_so) {
  for (int i = 0; i < 1000; ++i) {
    if (is_so()) return true;
    ::usleep(10'000);
  }
  return false;
}

/// A shell with the mark, in a session of its own: its pid.
pid_t start_marked(const std::string& mark, const std::string& script) {
  ProcessSpec spec;
  spec.arguments = {"/bin/sh", "-c", script};
  spec.environment = {mark, "PATH=/usr/bin:/bin"};
  spec.work_dir = "/";
  spec.user = ProcessUser{::geteuid(), ::getegid(), ""};
  const auto pid = start_process(spec);
  EXPECT_TRUE(pid.has_value());
  return pid.value_or(0);
}

TEST(MarkedProcesses, AreFoundAndEndedWithoutWhoStartedThem) {
  const std::string mark = "MUSTER_STEP=test-" + std::to_string(::getpid());
  const pid_t shell =
      start_marked(mark, "sleep 300 & (trap '' TERM; sleep 301) & env -i sleep 302 & wait");
  ASSERT_TRUE(eventually([&] { return marked_processes(mark).size() >= 4; }))
      << "the one that cleared its environment is a descendant";
  ::kill(shell, SIGKILL);
  ::waitpid(shell, nullptr, 0);
  const auto left = marked_processes(mark);
  EXPECT_GE(left.size(), 3U)
      << "they outlive their shell; who cleared its environment is of the same session";
  EXPECT_EQ(std::ranges::count(left, ::getpid()), 0);
  EXPECT_TRUE(eventually([&] { return kill_marked(mark); }));
  EXPECT_TRUE(marked_processes(mark).empty());
}

TEST(MarkedProcesses, AreToldWithTheirUsers) {
  const std::string prefix = "MUSTER_STEP=users-" + std::to_string(::getpid()) + ".";
  const pid_t own = start_marked(prefix + "1.0.2", "exec sleep 300");
  const auto found = [&] { return marks_with(prefix); };
  EXPECT_TRUE(eventually([&] { return found().size() == 1; }));
  EXPECT_EQ(found(), (std::map<std::string, std::set<uid_t>>{{"1.0.2", {::getuid()}}}));
  ::kill(own, SIGKILL);
  ::waitpid(own, nullptr, 0);
  EXPECT_TRUE(found().empty());
}

TEST(MarkedProcesses, OthersAreLeftAlone) {
  const std::string mark = "MUSTER_STEP=1.0.1-" + std::to_string(::getpid());
  const pid_t other = start_marked(mark + "0", "exec sleep 300");
  ASSERT_TRUE(eventually([&] { return marked_processes(mark + "0").size() == 1; }));
  EXPECT_TRUE(kill_marked(mark)) << "a mark that begins like another's";
  EXPECT_EQ(::kill(other, 0), 0);
  EXPECT_EQ(marked_processes(mark + "0").size(), 1U);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
}

}  // namespace
}  // namespace muster

#include "model/step.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace muster {
namespace {

TEST(ExitStatus, IsWhatWaitSays) {
  for (int code = 0; code < 256; ++code) {
    const int raw = ExitStatus::exited(code).raw;
    EXPECT_TRUE(WIFEXITED(raw));
    EXPECT_EQ(WEXITSTATUS(raw), code);
    EXPECT_EQ(ExitStatus{raw}.code(), code);
    EXPECT_EQ(ExitStatus{raw}.is_success(), code == 0);
  }
  for (int signal = 1; signal < 65; ++signal) {
    const int raw = ExitStatus::signalled(signal).raw;
    EXPECT_TRUE(WIFSIGNALED(raw));
    EXPECT_EQ(WTERMSIG(raw), signal);
    EXPECT_EQ(ExitStatus{raw}.signal(), signal);
    EXPECT_FALSE(ExitStatus{raw}.is_success());
  }
  EXPECT_EQ(ExitStatus::exited(256 + 3).code(), 3) << "as exit(3) has it";
  EXPECT_EQ(ExitStatus::exited(-1).code(), 255);
}

TEST(ExitStatus, ASignalIsWorseThanACodeAndAHigherOneThanALower) {
  const ExitStatus good;
  const ExitStatus one = ExitStatus::exited(1);
  const ExitStatus most = ExitStatus::exited(255);
  const ExitStatus hangup = ExitStatus::signalled(1);
  const ExitStatus killed = ExitStatus::signalled(9);
  for (const auto& [worst, other] : {std::pair(one, good), std::pair(most, one),
                                     std::pair(hangup, most), std::pair(killed, hangup)}) {
    EXPECT_EQ(worse(worst, other), worst);
    EXPECT_EQ(worse(other, worst), worst);
    EXPECT_EQ(worse(worst, worst), worst);
  }
}

TEST(Usage, TimesAddUpAndTheMostMemoryCounts) {
  Usage sum{10, 20, 300};
  sum += Usage{1, 2, 299};
  EXPECT_EQ(sum, (Usage{11, 22, 300}));
  sum += Usage{0, 0, 301};
  EXPECT_EQ(sum, (Usage{11, 22, 301}));
}

}  // namespace
}  // namespace muster

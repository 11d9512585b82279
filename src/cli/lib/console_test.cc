// Numbers that commands take from the environment, at their bounds and past them.
#include "cli/lib/console.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace muster::cli {
namespace {

constexpr const char* kName = "MUSTER_CONSOLE_TEST";

TEST(Console, ExitCodesAreOneByte) {
  ::unsetenv(kName);
  EXPECT_EQ(environment_number(kName, 7), 7);
  const std::pair<const char*, int> cases[] = {{"0", 0}, {"255", 255}, {"256", 7},       {"-1", 7},
                                               {"", 7},  {"3x", 7},    {"4294967296", 7}};
  for (const auto& [text, number] : cases) {
    ::setenv(kName, text, 1);
    EXPECT_EQ(environment_number(kName, 7), number) << text;
  }
  ::unsetenv(kName);
}

TEST(Console, OnlyCommandsThatStartJobsTakeTheirFailuresExitCodeFromTheEnvironment) {
  ::setenv("SLURM_EXIT_ERROR", "44", 1);
  for (const char* name : {"sbatch", "srun", "salloc"})
    EXPECT_EQ(Console(name).exit_error(), 44) << name;
  for (const char* name : {"squeue", "scontrol", "muster"})
    EXPECT_EQ(Console(name).exit_error(), 1) << name;
  ::unsetenv("SLURM_EXIT_ERROR");
  EXPECT_EQ(Console("srun").exit_error(), 1);
}

TEST(Console, IdsAreThirtyTwoBits) {
  ::unsetenv(kName);
  EXPECT_FALSE(environment_id(kName).has_value());
  for (const std::uint32_t id :
       {1U, 255U, 256U, 65535U, 65536U, 2147483647U, 2147483648U, 4294967295U}) {
    ::setenv(kName, std::to_string(id).c_str(), 1);
    EXPECT_EQ(environment_id(kName), id);
  }
  for (const char* text : {"0", "4294967296", "18446744073709551617", "-1", "+1", "", " 1", "1 ",
                           "1.0", "0x1", "one"}) {
    ::setenv(kName, text, 1);
    EXPECT_FALSE(environment_id(kName).has_value()) << text;
  }
  ::unsetenv(kName);
}

}  // namespace
}  // namespace muster::cli

#include "cli/slurm/multi_prog.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace muster::cli {
namespace {

constexpr const char* kHead =
    "ranks() { muster_offset=$(((SLURM_PROCID - $1) / $3 + $4)); [ $SLURM_PROCID -ge $1 ] && "
    "[ $SLURM_PROCID -le $2 ] && [ $(((SLURM_PROCID - $1) % $3)) -eq 0 ]; }\n";

std::string error_of(const std::string& text, std::uint32_t tasks) {
  const auto made = multi_prog_command(text, tasks);
  return made.has_value() ? "none" : made.error().message;
}

TEST(MultiProg, PicksByRank) {
  EXPECT_EQ(multi_prog_command("# comment\n0 echo %t\n5,1-2 work %t %o 100%\n* rest\n", 7).value(),
            std::string(kHead) + R"(if ranks 0 0 1 0; then exec 'echo' "$SLURM_PROCID" "$@"; fi
if ranks 5 5 1 0 || ranks 1 2 1 1; then exec 'work' "$SLURM_PROCID" "$muster_offset" '100%' "$@"; fi
muster_offset=$SLURM_PROCID; exec 'rest' "$@"
)");
}

TEST(MultiProg, ABackslashJoinsTheNextLine) {
  const std::string script =
      multi_prog_command("0 echo first \\\nmore\n1 echo second\n", 2).value();
  EXPECT_NE(script.find("exec 'echo' 'first' 'more' "), std::string::npos);
  EXPECT_NE(script.find("exec 'echo' 'second' "), std::string::npos);
  EXPECT_EQ(error_of("# comment \\\n0 echo\n1 echo\n", 2), "no program for task 0");
  EXPECT_EQ(error_of("0 echo \\\nfirst\nx echo\n", 2),
            "line 3: Invalid task range specification (x)");
  EXPECT_NE(multi_prog_command("0 echo last \\", 1)->find("exec 'echo' 'last' "),
            std::string::npos);
}

TEST(MultiProg, TheFileSaysHowManyTasksThereAre) {
  EXPECT_EQ(multi_prog_task_count("0 a\n3,1 b\n* rest\n").value(), 4U);
  EXPECT_EQ(multi_prog_task_count("* a\n").value(), 1U);
  EXPECT_EQ(multi_prog_task_count("0,5, a\n").value(), 6U);
  EXPECT_FALSE(multi_prog_task_count("0 a\n0 b\n").has_value());
  EXPECT_FALSE(multi_prog_task_count("4000000000 a\n").has_value());
}

TEST(MultiProg, WhatIsNoTextIsRefused) {
  EXPECT_NE(error_of(std::string("0 a\0b\n", 6), 1).find("NUL"), std::string::npos);
}

TEST(MultiProg, EveryRankIsNamedOnce) {
  EXPECT_EQ(error_of("0 a\n0 b\n1 c\n", 2), "line 2: Duplicate record for task 0");
  EXPECT_EQ(error_of("0,0 a\n1 c\n", 2), "line 1: Duplicate record for task 0");
  EXPECT_EQ(error_of("* a\n1 b\n", 2),
            "line 2: Task range specification with asterisk must be last");
  EXPECT_EQ(error_of("0-1 a\n* rest\n", 2), "none");
  EXPECT_EQ(error_of("0-5 a\n", 2), "line 1: Invalid task id, 5 >= ntasks");
  EXPECT_EQ(error_of("3-1 a\n", 4), "line 1: Invalid task range, 3-1");
  for (const std::string ranks :
       {"[0-1]", "0-2:2", "0-1%1", "x", "0,,1", ",", "0-", "-1", "0-1-2"}) {
    EXPECT_EQ(error_of(ranks + " a\n", 3),
              fmt::format("line 1: Invalid task range specification ({})", ranks));
  }
}

TEST(MultiProg, EveryRankNeedsAProgram) {
  EXPECT_EQ(error_of("0 echo\n", 2), "no program for task 1");
  EXPECT_EQ(error_of("0\n", 1), "line 1: no program for tasks 0");
  EXPECT_EQ(error_of("", 1), "no program for task 0");
}

/// A word of a command has 128 KiB.
TEST(MultiProg, ManyRanksMakeNoLongScript) {
  EXPECT_LT(multi_prog_command("0-49999 ocean -n %t\n50000-99999 atmosphere %o\n", 100'000)->size(),
            500U);
  std::string even = "0";
  for (int rank = 2; rank < 100'000; rank += 2) even += fmt::format(",{}", rank);
  EXPECT_LT(multi_prog_command(even + " server %o\n* worker\n", 100'000)->size(), 500U);
}

TEST(MultiProg, NothingOfALineIsTheShells) {
  const auto command = [](const std::string& line) {
    return multi_prog_command("0 " + line + "\n", 1).value();
  };
  const auto runs = [](const std::string& words) {
    return kHead + ("if ranks 0 0 1 0; then exec " + words + " \"$@\"; fi\n");
  };
  EXPECT_EQ(command("echo $HOME *.c; {{hp.a}};"), runs("'echo' '$HOME' '*.c;' '{{hp.a}};'"));
  EXPECT_EQ(command("echo 'a  $b %t' c%t\t\"d"),
            runs(R"('echo' 'a  $b %t' 'c'"$SLURM_PROCID" '"d')"));
  EXPECT_EQ(command("echo '' x'y z'w %t%o"),
            runs(R"('echo' '' 'xy zw' "$SLURM_PROCID""$muster_offset")"));
  EXPECT_EQ(command(R"(echo a\ b \%t \' \c)"), runs(R"('echo' 'a b' '%t' ''\''' 'c')"));
  EXPECT_EQ(error_of("# c\n0 echo 'a\n", 1), "line 2: a single quote is not closed");
}

}  // namespace
}  // namespace muster::cli

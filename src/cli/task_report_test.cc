#include "cli/task_report.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "cli/multi_prog.h"

namespace muster::cli {
namespace {

using Lines = std::vector<std::string>;

TEST(TaskReport, EndsOfOneKindShareALine) {
  TaskReport report(4);
  report.add(0, "n1", {ExitStatus::exited(1)});
  report.add(1, "n2", {ExitStatus::exited(1)});
  report.add(3, "n2", {ExitStatus::exited(1)});
  report.add(2, "n2", {ExitStatus::exited(0)});
  EXPECT_EQ(report.take_lines(), Lines{"n[1-2]: tasks 0-1,3: Exited with exit code 1"});
  EXPECT_TRUE(report.take_lines().empty());
  EXPECT_EQ(report.exit_code(), 1);
}

TEST(TaskReport, SignalsWinOverCodes) {
  TaskReport report(3);
  report.add(0, "n1", {ExitStatus::exited(200)});
  report.add(1, "n1", {ExitStatus{11 | 0x80}});
  EXPECT_EQ(report.exit_code(), 139);
  EXPECT_EQ(report.take_lines(), (Lines{"n1: task 1: Segmentation fault (core dumped)", "n1: task 0: Exited with exit code 200"}));
  EXPECT_EQ(report.status_lines(), (Lines{"task 2: running", "tasks 0-1: exited abnormally"}));
}

TEST(TaskReport, ABriefOneSaysWhatRepeatsOnce) {
  TaskReport report(5, true);
  report.add(0, "n1", {ExitStatus::exited(1)});
  EXPECT_EQ(report.take_lines(), Lines{"n1: task 0: Exited with exit code 1"});
  report.add(1, "n1", {ExitStatus::exited(1)});
  EXPECT_TRUE(report.take_lines().empty());
  report.add(2, "n1", {ExitStatus::exited(2)});
  EXPECT_EQ(report.take_lines(), Lines{"n1: task 2: Exited with exit code 2"});
  report.add(3, "n1", {ExitStatus::exited(1)});
  EXPECT_EQ(report.take_lines(), Lines{"n1: task 3: Exited with exit code 1"});
  EXPECT_EQ(report.exit_code(), 2);
}

TEST(TaskReport, OutOfMemory) {
  TaskReport report(1);
  report.add(0, "n1", {ExitStatus::signalled(9), true});
  EXPECT_EQ(report.take_lines(), Lines{"n1: task 0: Out Of Memory"});
  EXPECT_EQ(report.exit_code(), 1);
}

TEST(TaskReport, ARepeatedEndCountsOnce) {
  TaskReport report(1);
  report.add(0, "n1", {ExitStatus::exited(2)});
  report.add(0, "n1", {ExitStatus::exited(2)});
  EXPECT_EQ(report.take_lines().size(), 1U);
  EXPECT_EQ(report.ended_count(), 1U);
}

/// What the shell prints that runs the script for that rank.
std::string run_script(const std::string& script, std::uint32_t rank) {
  const std::string command = fmt::format(
      "SLURM_PROCID={} sh -s X 'Y Z' 2>&1 <<'END_OF_SCRIPT'\n{}END_OF_SCRIPT\n", rank, script);
  std::string out;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return "no shell";
  char buffer[4096];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, pipe))
    out.append(buffer, count);
  ::pclose(pipe);
  return out;
}

TEST(MultiProg, PicksByRank) {
  const std::string script =
      multi_prog_command(
          "# comment\n0 echo first %t\n1-2,5 printf [%s] %t %o 100%\n* echo rest %t %o\n", 7)
          .value();
  const std::vector<std::string> expected = {
      "first 0 X Y Z\n",  "[1][0][100%][X][Y Z]", "[2][1][100%][X][Y Z]", "rest 3 0 X Y Z\n",
      "rest 4 1 X Y Z\n", "[5][2][100%][X][Y Z]", "rest 6 2 X Y Z\n"};
  for (std::uint32_t rank = 0; rank < 7; ++rank)
    EXPECT_EQ(run_script(script, rank), expected[rank]) << script;
}

TEST(MultiProg, TheLastLineThatNamesARankCounts) {
  const std::string script = multi_prog_command("0-3 echo a %o\n1-2 echo b %o\n", 4).value();
  const std::vector<std::string> expected = {"a 0 X Y Z\n", "b 0 X Y Z\n", "b 1 X Y Z\n",
                                             "a 3 X Y Z\n"};
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(run_script(script, rank), expected[rank]) << script;
}

/// A word of a command has 128 KiB.
TEST(MultiProg, ManyRanksMakeNoLongScript) {
  const std::string script =
      multi_prog_command("0-49999 ocean -n %t\n50000-99999 atmosphere %o\n", 100'000).value();
  EXPECT_LT(script.size(), 500U);
}

TEST(MultiProg, NothingOfALineIsTheShells) {
  const auto printed = [](const std::string& words) {
    return run_script(multi_prog_command("0 printf [%s] " + words + "\n", 1).value(), 0);
  };
  EXPECT_EQ(printed("$HOME *.c; {{hp.a}};"), "[$HOME][*.c;][{{hp.a}};][X][Y Z]");
  EXPECT_EQ(printed("'a  $b %t' c%t\t\"d"), "[a  $b %t][c0][\"d][X][Y Z]");
  EXPECT_EQ(printed("'' x'y z'w"), "[][xy zw][X][Y Z]");
  EXPECT_EQ(printed(R"(a\ b \%t \' c\)"), R"([a b][%t]['][c\][X][Y Z])");
  EXPECT_EQ(multi_prog_command("# c\n0 echo 'a\n", 1).error().message,
            "line 2: a single quote is not closed");
}

TEST(MultiProg, EveryRankNeedsAProgram) {
  EXPECT_EQ(multi_prog_command("0 echo\n", 2).error().message, "no program for task 1");
  EXPECT_EQ(multi_prog_command("0\n", 1).error().message, "line 1: no program for tasks 0");
  EXPECT_EQ(multi_prog_command("x echo\n", 1).error().message, "line 1: invalid task range x");
}

}  // namespace
}  // namespace muster::cli

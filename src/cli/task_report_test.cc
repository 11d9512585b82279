#include "cli/task_report.h"

#include <gtest/gtest.h>

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

TEST(MultiProg, PicksByRank) {
  EXPECT_EQ(multi_prog_command("# comment\n0 echo %t\n1-2 work %t %o 100%\n* rest\n", 4).value(),
            R"(case $SLURM_PROCID in
0) exec 'echo' '0' "$@" ;;
1) exec 'work' '1' '0' '100%' "$@" ;;
2) exec 'work' '2' '1' '100%' "$@" ;;
3) exec 'rest' "$@" ;;
esac
)");
}

TEST(MultiProg, NothingOfALineIsTheShells) {
  const auto command = [](const std::string& line) {
    return multi_prog_command("0 " + line + "\n", 1).value();
  };
  const auto runs = [](const std::string& words) {
    return "case $SLURM_PROCID in\n0) exec " + words + " \"$@\" ;;\nesac\n";
  };
  EXPECT_EQ(command("echo $HOME *.c; {{hp.a}};"), runs("'echo' '$HOME' '*.c;' '{{hp.a}};'"));
  EXPECT_EQ(command("echo 'a  $b %t' c%t\t\"d"), runs(R"('echo' 'a  $b %t' 'c0' '"d')"));
  EXPECT_EQ(command("echo '' x'y z'w"), runs("'echo' '' 'xy zw'"));
  EXPECT_EQ(command(R"(echo a\ b \%t \' c\)"), runs(R"('echo' 'a b' '%t' ''\''' 'c\')"));
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

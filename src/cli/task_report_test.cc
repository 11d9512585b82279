#include "cli/task_report.h"

#include <gtest/gtest.h>

#include <string>

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
  EXPECT_EQ(report.take_lines(), (Lines{"n1: task 1: Segmentation fault (core dumped)",
                                        "n1: task 0: Exited with exit code 200"}));
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

constexpr const char* kHead =
    "ranks() { [ $SLURM_PROCID -ge $1 ] && [ $SLURM_PROCID -le $2 ] && "
    "muster_offset=$((SLURM_PROCID - $1 + $3)); }\n";

TEST(MultiProg, PicksByRank) {
  EXPECT_EQ(multi_prog_command("# comment\n0 echo %t\n1-2,5 work %t %o 100%\n* rest\n", 7).value(),
            std::string(kHead) + R"(if ranks 0 0 0; then exec 'echo' "$SLURM_PROCID" "$@"; fi
if ranks 1 2 0 || ranks 5 5 2; then exec 'work' "$SLURM_PROCID" "$muster_offset" '100%' "$@"; fi
if ranks 3 4 0 || ranks 6 6 2; then exec 'rest' "$@"; fi
)");
}

TEST(MultiProg, TheLastLineThatNamesARankCounts) {
  EXPECT_EQ(multi_prog_command("0-3 a\n1-2 b\n* c\n", 4).value(),
            std::string(kHead) + R"(if ranks 0 0 0 || ranks 3 3 3; then exec 'a' "$@"; fi
if ranks 1 2 0; then exec 'b' "$@"; fi
)");
}

/// A word of a command has 128 KiB.
TEST(MultiProg, ManyRanksMakeNoLongScript) {
  const std::string script =
      multi_prog_command("0-49999 ocean -n %t\n50000-99999 atmosphere %o\n", 100'000).value();
  EXPECT_LT(script.size(), 500U);
}

TEST(MultiProg, NothingOfALineIsTheShells) {
  const auto command = [](const std::string& line) {
    return multi_prog_command("0 " + line + "\n", 1).value();
  };
  const auto runs = [](const std::string& words) {
    return kHead + ("if ranks 0 0 0; then exec " + words + " \"$@\"; fi\n");
  };
  EXPECT_EQ(command("echo $HOME *.c; {{hp.a}};"), runs("'echo' '$HOME' '*.c;' '{{hp.a}};'"));
  EXPECT_EQ(command("echo 'a  $b %t' c%t\t\"d"),
            runs(R"('echo' 'a  $b %t' 'c'"$SLURM_PROCID" '"d')"));
  EXPECT_EQ(command("echo '' x'y z'w %t%o"),
            runs(R"('echo' '' 'xy zw' "$SLURM_PROCID""$muster_offset")"));
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

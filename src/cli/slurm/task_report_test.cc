#include "cli/slurm/task_report.h"

#include <gtest/gtest.h>

#include <string>

namespace muster::cli {
namespace {

using Lines = std::vector<std::string>;

TEST(TaskReport, EndsOfOneKindShareALine) {
  TaskReport report(4);
  report.add(0, "n1", {ExitStatus::exited(1)});
  report.add(1, "n2", {ExitStatus::exited(1)});
  report.add(3, "n2", {ExitStatus::exited(1)});
  report.add(2, "n2", {ExitStatus::exited(0)});
  EXPECT_EQ(report.drain_lines(), Lines{"n[1-2]: tasks 0-1,3: Exited with exit code 1"});
  EXPECT_TRUE(report.drain_lines().empty());
  EXPECT_EQ(report.exit_code(), 1);
}

TEST(TaskReport, SignalsWinOverCodes) {
  TaskReport report(3);
  report.add(0, "n1", {ExitStatus::exited(200)});
  report.add(1, "n1", {ExitStatus{11 | 0x80}});
  EXPECT_EQ(report.exit_code(), 139);
  EXPECT_EQ(report.drain_lines(), (Lines{"n1: task 1: Segmentation fault (core dumped)",
                                         "n1: task 0: Exited with exit code 200"}));
  EXPECT_EQ(report.status_lines(), (Lines{"task 2: running", "tasks 0-1: exited abnormally"}));
}

TEST(TaskReport, ABriefOneSaysWhatRepeatsOnce) {
  TaskReport report(5, true);
  report.add(0, "n1", {ExitStatus::exited(1)});
  EXPECT_EQ(report.drain_lines(), Lines{"n1: task 0: Exited with exit code 1"});
  report.add(1, "n1", {ExitStatus::exited(1)});
  EXPECT_TRUE(report.drain_lines().empty());
  report.add(2, "n1", {ExitStatus::exited(2)});
  EXPECT_EQ(report.drain_lines(), Lines{"n1: task 2: Exited with exit code 2"});
  report.add(3, "n1", {ExitStatus::exited(1)});
  EXPECT_EQ(report.drain_lines(), Lines{"n1: task 3: Exited with exit code 1"});
  EXPECT_EQ(report.exit_code(), 2);
}

TEST(TaskReport, OutOfMemory) {
  TaskReport report(1);
  report.add(0, "n1", {ExitStatus::signalled(9), true});
  EXPECT_EQ(report.drain_lines(), Lines{"n1: task 0: Out Of Memory"});
  EXPECT_EQ(report.exit_code(), 1);
}

TEST(TaskReport, ARepeatedEndCountsOnce) {
  TaskReport report(1);
  report.add(0, "n1", {ExitStatus::exited(2)});
  report.add(0, "n1", {ExitStatus::exited(2)});
  EXPECT_EQ(report.drain_lines().size(), 1U);
  EXPECT_EQ(report.ended_count(), 1U);
}

}  // namespace
}  // namespace muster::cli

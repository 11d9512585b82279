#include "slurm/task_output.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(TaskOutput, UnlabelledPassesBytes) {
  TaskOutput output(false, 2);
  EXPECT_EQ(output.add(0, std::string("a\0b", 3)), std::string("a\0b", 3));
  EXPECT_EQ(output.finish(), "");
}

TEST(TaskOutput, LabelsWholeLines) {
  TaskOutput output(true, 11);
  EXPECT_EQ(output.add(3, "one\ntw"), " 3: one\n");
  EXPECT_EQ(output.add(10, "x\n"), "10: x\n");
  EXPECT_EQ(output.add(3, "o\n\n"), " 3: two\n 3: \n");
  EXPECT_EQ(output.add(3, "rest"), "");
  EXPECT_EQ(output.finish(), " 3: rest\n");
}

TEST(TaskOutput, LabelsAreAsWideAsTheHighestRank) {
  for (const auto& [tasks, label] :
       {std::pair(0U, "0: "), std::pair(1U, "0: "), std::pair(10U, "0: "), std::pair(11U, " 0: "),
        std::pair(101U, "  0: ")}) {
    TaskOutput output(true, tasks);
    EXPECT_EQ(output.add(0, "x\n"), std::string(label) + "x\n") << tasks;
  }
}

TEST(TaskOutput, LinesOfSeveralTasksDoNotMix) {
  TaskOutput output(true, 2);
  EXPECT_EQ(output.add(0, "left"), "");
  EXPECT_EQ(output.add(1, "right"), "");
  EXPECT_EQ(output.add(0, "over\n"), "0: leftover\n");
  EXPECT_EQ(output.finish(), "1: right\n");
  EXPECT_EQ(output.finish(), "") << "once";
}

TEST(TaskOutput, EveryByteComesOutWhereverTheStreamIsCut) {
  const std::string text("first\n\nsecond\0half\nlast", 23);
  const std::string whole("0: first\n0: \n0: second\0half\n0: last\n", 36);
  for (std::size_t a = 0; a <= text.size(); ++a) {
    for (std::size_t b = a; b <= text.size(); ++b) {
      TaskOutput output(true, 1);
      std::string out;
      for (const std::string& piece : {text.substr(0, a), text.substr(a, b - a), text.substr(b)})
        out += output.add(0, piece);
      out += output.finish();
      ASSERT_EQ(out, whole) << a << " " << b;
    }
  }
}

}  // namespace
}  // namespace muster

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

}  // namespace
}  // namespace muster

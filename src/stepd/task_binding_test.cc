#include "stepd/task_binding.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

/// A step on a node that gives it CPUs 0 to 7 (two sockets of two cores of two threads) and GPUs 1,
/// 2 and 3.
struct TaskBindingTest : ::testing::Test {
  TaskBindingTest() {
    launch.node_name = "n1";
    launch.step_grant.cpus = Bitmap::range(0, 8);
    launch.step_grant.gres.push_back({"gpu", "", Bitmap::range(1, 3)});
  }
  TaskBinding bind(std::uint32_t tasks) {
    launch.step = std::make_shared<const StepSpec>(step);
    auto bound = bind_tasks(launch, tasks, NodeShape{2, 2});
    EXPECT_TRUE(bound.has_value());
    return bound.value_or(TaskBinding{});
  }
  std::vector<std::string> cpus(std::string_view text, std::uint32_t tasks) {
    step.text.set(StepText::kCpuBind, text);
    std::vector<std::string> masks;
    for (const Bitmap& mask : bind(tasks).cpus) masks.push_back(mask_text(mask));
    return masks;
  }
  std::vector<std::string> gpus(std::string_view text, std::uint32_t tasks) {
    step.text.set(StepText::kGpuBind, text);
    std::vector<std::string> lists;
    for (const Bitmap& devices : bind(tasks).gpus) lists.push_back(index_text(devices));
    return lists;
  }
  StepSpec step;
  LaunchStep launch;
};

using Texts = std::vector<std::string>;

TEST_F(TaskBindingTest, WithoutAWordTasksOfAnExactStepHaveTheirOwnCpus) {
  EXPECT_EQ(cpus("", 2), (Texts{"0xFF", "0xFF"}));
  step.is_exact = true;
  step.cpus_per_task = 3;
  EXPECT_EQ(cpus("", 2), (Texts{"0x7", "0x38"}));
  EXPECT_EQ(cpus("", 3), (Texts{"0xFF", "0xFF", "0xFF"}));
}

TEST_F(TaskBindingTest, CpuTypes) {
  EXPECT_EQ(cpus("none", 2), (Texts{"0x0", "0x0"}));
  EXPECT_EQ(cpus("threads", 3), (Texts{"0x1", "0x2", "0x4"}));
  EXPECT_EQ(cpus("rank", 3), (Texts{"0x1", "0x2", "0x4"}));
  EXPECT_EQ(cpus("cores", 3), (Texts{"0x3", "0xC", "0x30"}));
  EXPECT_EQ(cpus("cores", 5), (Texts{"0x3", "0x3", "0xC", "0xC", "0x30"}));
  EXPECT_EQ(cpus("sockets", 2), (Texts{"0xF", "0xF"}));
  step.cpus_per_task = 4;
  EXPECT_EQ(cpus("sockets", 2), (Texts{"0xF", "0xF0"}));
  EXPECT_EQ(cpus("cores", 2), (Texts{"0xF", "0xF0"}));
}

TEST_F(TaskBindingTest, CpuLists) {
  EXPECT_EQ(cpus("map_cpu:5,1", 3), (Texts{"0x20", "0x2", "0x20"}));
  EXPECT_EQ(cpus("mask_cpu:0x3,f0", 2), (Texts{"0x3", "0xF0"}));
  step.text.set(StepText::kCpuBind, "map_cpu:8");
  launch.step = std::make_shared<const StepSpec>(step);
  const auto outside = bind_tasks(launch, 1, NodeShape{2, 2});
  ASSERT_FALSE(outside.has_value());
  EXPECT_EQ(outside.error().text(),
            "Unable to satisfy cpu bind request: CPU binding outside of job step allocation, "
            "allocated CPUs are: 0xFF");
}

TEST_F(TaskBindingTest, OnlyTheStepsOwnCpusAreDivided) {
  launch.step_grant.cpus = Bitmap::range(3, 3);  // a thread of core 1, and core 2
  EXPECT_EQ(cpus("cores", 2), (Texts{"0x8", "0x30"}));
  EXPECT_EQ(cpus("threads", 4), (Texts{"0x8", "0x10", "0x20", "0x8"}));
}

TEST_F(TaskBindingTest, GpuTypes) {
  EXPECT_EQ(gpus("", 2), (Texts{"1,2,3", "1,2,3"}));
  EXPECT_EQ(gpus("closest", 2), (Texts{"1,2,3", "1,2,3"}));
  EXPECT_EQ(gpus("single:1", 4), (Texts{"1", "2", "3", "1"}));
  EXPECT_EQ(gpus("single:2", 3), (Texts{"1", "1", "2"}));
  EXPECT_EQ(gpus("per_task:2", 2), (Texts{"1,2", "1,3"}));
  EXPECT_EQ(gpus("map:3,2", 3), (Texts{"3", "2", "3"}));
  EXPECT_EQ(gpus("mask:0x6,8", 2), (Texts{"1,2", "3"}));
  EXPECT_EQ(gpus("map:7", 1), (Texts{"1"}));  // not the step's: the first instead
}

TEST_F(TaskBindingTest, GpusPerTaskBindUnlessAnotherBindingIsAskedFor) {
  step.text.set(StepText::kGresPerTask, "gpu:1");
  EXPECT_EQ(gpus("", 2), (Texts{"1", "2"}));
  EXPECT_EQ(gpus("verbose", 2), (Texts{"1", "2"}));
  EXPECT_EQ(gpus("none", 2), (Texts{"1,2,3", "1,2,3"}));
  launch.step_grant.gres.clear();
  EXPECT_EQ(gpus("single:1", 2), (Texts{"", ""}));
}

TEST_F(TaskBindingTest, VerboseTasksSayWhereTheyAre) {
  step.text.set(StepText::kGpuBind, "verbose,single:1");
  step.text.set(StepText::kCpuBind, "verbose,cores");
  const TaskBinding bound = bind(2);
  EXPECT_EQ(binding_notice(bound, launch, 1, 5, 4711),
            "cpu-bind=MASK - n1, task  5  1 [4711]: mask 0xC set\n"
            "gpu-bind: usable_gres=0x4; bit_alloc=0xE; local_inx=3; global_list=2; local_list=2\n");
  step.text.set(StepText::kGpuBind, "single:1");
  step.text.set(StepText::kCpuBind, "quiet,cores");
  EXPECT_EQ(binding_notice(bind(2), launch, 1, 5, 4711), "");
}

TEST_F(TaskBindingTest, ABatchScriptHasTheWholeGrant) {
  launch.job_grant = launch.step_grant;
  launch.step = nullptr;
  const auto bound = bind_tasks(launch, 1, NodeShape{2, 2});
  ASSERT_TRUE(bound.has_value());
  EXPECT_EQ(bound->cpus.front(), Bitmap::range(0, 8));
  EXPECT_EQ(bound->gpus.front(), Bitmap::range(1, 3));
}

}  // namespace
}  // namespace muster

#include "slurm/requested_variables.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string value_of(const Environment& environment, std::string_view name) {
  return std::string(get_variable(environment, name).value_or("(unset)"));
}

Environment requested(const JobSpec& job) {
  Environment environment;
  add_requested_variables(environment, job);
  return environment;
}

TEST(RequestedVariables, WhatWasAssumedIsLeftOut) { EXPECT_TRUE(requested(JobSpec{}).empty()); }

TEST(RequestedVariables, GpusPerNodeAreGpusAlone) {
  JobSpec job;
  job.text.set(JobText::kGresPerNode, "gpu:h100:2,nic:1");
  EXPECT_EQ(value_of(requested(job), "SLURM_GPUS_PER_NODE"), "(unset)");
  job.given = given_option::kGpusPerNode;
  EXPECT_EQ(value_of(requested(job), "SLURM_GPUS_PER_NODE"), "h100:2");
  job.text.set(JobText::kGresPerNode, "gpu:2,nic:1");
  EXPECT_EQ(value_of(requested(job), "SLURM_GPUS_PER_NODE"), "2");
}

TEST(RequestedVariables, APlaneHasItsSizeInAVariableOfItsOwn) {
  JobSpec job;
  job.given = given_option::kDistribution;
  job.text.set(JobText::kDistribution, "plane=3");
  EXPECT_EQ(value_of(requested(job), "SLURM_DISTRIBUTION"), "plane");
  EXPECT_EQ(value_of(requested(job), "SLURM_DIST_PLANESIZE"), "3");
  Environment environment = requested(job);
  set_distribution(environment, "");
  EXPECT_EQ(value_of(environment, "SLURM_DISTRIBUTION"), "plane");
  set_distribution(environment, "block:cyclic");
  EXPECT_EQ(value_of(environment, "SLURM_DISTRIBUTION"), "block:cyclic");
  EXPECT_EQ(value_of(environment, "SLURM_DIST_PLANESIZE"), "(unset)");
}

TEST(RequestedVariables, TresPerTask) {
  JobSpec job;
  job.request.cpus_per_task = 2;
  job.text.set(JobText::kGresPerTask, "gpu:h100:1");
  job.given = given_option::kCpusPerTask | given_option::kGpusPerTask;
  EXPECT_EQ(value_of(requested(job), "SLURM_TRES_PER_TASK"), "cpu=2,gres/gpu:h100=1");
  EXPECT_EQ(value_of(requested(job), "SLURM_GPUS_PER_TASK"), "h100:1");
  job.given = given_option::kGpusPerTask;
  EXPECT_EQ(value_of(requested(job), "SLURM_TRES_PER_TASK"), "gres/gpu:h100=1");
  EXPECT_EQ(tres_per_task_text(0, ""), "");
}

TEST(RequestedVariables, MemoryUnderTheNameOfItsScope) {
  JobSpec job;
  job.given = given_option::kMemory | given_option::kTasksPerNode;
  job.request.memory_scope = MemoryScope::kPerCpu;
  job.request.memory_mib = 512;
  job.request.tasks_per_node = 2;
  job.request.task_count = 4;
  const Environment environment = requested(job);
  EXPECT_EQ(value_of(environment, "SLURM_MEM_PER_CPU"), "512");
  EXPECT_EQ(value_of(environment, "SLURM_NTASKS"), "4");
}

TEST(RequestedVariables, TheClustersDefaultMemoryCountsToo) {
  JobSpec job;
  job.request.memory_scope = MemoryScope::kPerCpu;
  job.request.memory_mib = 512;
  EXPECT_EQ(value_of(requested(job), "SLURM_MEM_PER_CPU"), "512");
  job.request.memory_scope = MemoryScope::kPerNode;
  job.request.memory_mib = 0;  // --mem=0: all there is
  EXPECT_EQ(value_of(requested(job), "SLURM_MEM_PER_NODE"), "(unset)");
}

}  // namespace
}  // namespace muster

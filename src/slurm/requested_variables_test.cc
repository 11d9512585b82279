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
  job.request.edit()->cpus_per_task = 2;
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
  job.request.edit()->memory_scope = MemoryScope::kPerCpu;
  job.request.edit()->memory_mib = 512;
  job.request.edit()->tasks_per_node = 2;
  job.request.edit()->task_count = 4;
  const Environment environment = requested(job);
  EXPECT_EQ(value_of(environment, "SLURM_MEM_PER_CPU"), "512");
  EXPECT_EQ(value_of(environment, "SLURM_NTASKS"), "4");
}

TEST(RequestedVariables, TheClustersDefaultMemoryCountsToo) {
  JobSpec job;
  job.request.edit()->memory_scope = MemoryScope::kPerCpu;
  job.request.edit()->memory_mib = 512;
  EXPECT_EQ(value_of(requested(job), "SLURM_MEM_PER_CPU"), "512");
  job.request.edit()->memory_scope = MemoryScope::kPerNode;
  job.request.edit()->memory_mib = 0;  // --mem=0: all there is
  EXPECT_EQ(value_of(requested(job), "SLURM_MEM_PER_NODE"), "(unset)");
}

TEST(RequestedVariables, EachOptionHasItsVariable) {
  using namespace given_option;
  struct Case {
    std::uint32_t given;
    const char* name;
    const char* value;
  };
  JobSpec job;
  job.request.edit()->task_count = 6;
  job.request.edit()->tasks_per_node = 3;
  job.tasks_per_core = 4;
  job.tasks_per_socket = 5;
  job.request.edit()->tasks_per_gpu = 7;
  job.request.edit()->cpus_per_task = 8;
  job.request.edit()->cpus_per_gpu = 9;
  job.request.edit()->threads_per_core = 1;
  job.text.set(JobText::kGresPerJob, "gpu:a100:1,gpu:h100:2");
  job.text.set(JobText::kGresPerTask, "gpu:2");
  for (const auto& [given, name, value] :
       {Case{kTaskCount, "SLURM_NTASKS", "6"}, Case{kTaskCount, "SLURM_NPROCS", "6"},
        Case{kTasksPerNode, "SLURM_NTASKS_PER_NODE", "3"},
        Case{kTasksPerCore, "SLURM_NTASKS_PER_CORE", "4"},
        Case{kTasksPerSocket, "SLURM_NTASKS_PER_SOCKET", "5"},
        Case{kTasksPerGpu, "SLURM_NTASKS_PER_GPU", "7"}, Case{kTasksPerGpu, "SLURM_NTASKS", "6"},
        Case{kCpusPerTask, "SLURM_CPUS_PER_TASK", "8"},
        Case{kCpusPerGpu, "SLURM_CPUS_PER_GPU", "9"},
        Case{kThreadsPerCore, "SLURM_THREADS_PER_CORE", "1"},
        Case{kGpus, "SLURM_GPUS", "a100:1,h100:2"},
        Case{kGpusPerTask, "SLURM_GPUS_PER_TASK", "2"}}) {
    job.given = given;
    EXPECT_EQ(value_of(requested(job), name), value) << name;
    job.given = ~given;
    const bool is_common =
        std::string_view(name) == "SLURM_NTASKS" || std::string_view(name) == "SLURM_NPROCS";
    EXPECT_TRUE(is_common || value_of(requested(job), name) == "(unset)") << name;
  }
}

TEST(RequestedVariables, AMemoryVariableTakesThePlaceOfTheOthers) {
  Environment environment = {"SLURM_MEM_PER_NODE=1", "SLURM_MEM_PER_GPU=2", "A=3"};
  set_memory_variable(environment, MemoryScope::kDefault, 5);
  set_memory_variable(environment, MemoryScope::kPerCpu, 0);
  EXPECT_EQ(environment.size(), 3U);
  set_memory_variable(environment, MemoryScope::kPerGpu, 7);
  EXPECT_EQ(environment, (Environment{"A=3", "SLURM_MEM_PER_GPU=7"}));
  set_memory_variable(environment, MemoryScope::kPerNode, 8);
  EXPECT_EQ(environment, (Environment{"A=3", "SLURM_MEM_PER_NODE=8"}));
}

TEST(RequestedVariables, ModesAndOvercommitCountWithoutBeingGiven) {
  JobSpec job;
  job.open_mode = 1;
  EXPECT_EQ(value_of(requested(job), "SLURM_OPEN_MODE"), "t");
  job.open_mode = 2;
  job.request.edit()->is_overcommit = true;
  EXPECT_EQ(value_of(requested(job), "SLURM_OPEN_MODE"), "a");
  EXPECT_EQ(value_of(requested(job), "SLURM_OVERCOMMIT"), "1");
}

TEST(RequestedVariables, TresPerTaskNamesCpusThenDevices) {
  EXPECT_EQ(tres_per_task_text(2, ""), "cpu=2");
  EXPECT_EQ(tres_per_task_text(2, "nic:1,gpu:h100:2"), "cpu=2,gres/gpu:h100=2,gres/nic=1");
  EXPECT_EQ(tres_per_task_text(0, "not a gres text"), "");
}

}  // namespace
}  // namespace muster

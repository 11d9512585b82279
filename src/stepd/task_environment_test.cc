#include "stepd/task_environment.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

/// A job on one node with GPUs 0 and 1, and in it a step of two tasks.
struct TaskEnvironmentTest : ::testing::Test {
  TaskEnvironmentTest() {
    job.text.set(JobText::kWorkDir, "/work");
    launch.id = StepId{JobId(7), 0, 0};
    launch.job_cpus = {4};
    launch.job_tasks = {2};
    launch.step_tasks = {2};
    launch.job_grant.cpus = launch.step_grant.cpus = Bitmap::range(0, 4);
    launch.pools.push_back({"gpu", "", 2, {}});
    step.task_count = 2;
  }
  void give(NodeGrant& grant, const Bitmap& gpus) { grant.gres.push_back({"gpu", "", gpus}); }
  Environment of(std::uint32_t local_id, bool is_batch = false) {
    launch.job = std::make_shared<const JobSpec>(job);
    launch.step = is_batch ? nullptr : std::make_shared<const StepSpec>(step);
    launch.environment = std::make_shared<const std::string>(environment_block(user));
    const RankLayout layout = step_layout(launch);
    const TaskBinding binding =
        bind_tasks(launch, static_cast<std::uint32_t>(layout[0].size()), {}).value();
    Environment environment = node_environment(launch, layout, binding, "/conf");
    add_task_variables(environment, launch, binding, {layout[0][local_id], local_id, 99});
    return environment;
  }
  std::string value(std::string_view name, std::uint32_t local_id = 0, bool is_batch = false) {
    return std::string(get_variable(of(local_id, is_batch), name).value_or("(unset)"));
  }
  std::string batch_value(std::string_view name) { return value(name, 0, true); }

  JobSpec job;
  StepSpec step;
  LaunchStep launch;
  Environment user;
};

TEST_F(TaskEnvironmentTest, WithoutGpusTheListsOfOthersAreTakenAway) {
  user = {"CUDA_VISIBLE_DEVICES=7", "ROCR_VISIBLE_DEVICES=7", "SLURM_STEP_GPUS=7",
          "SLURM_GPUS_ON_NODE=7", "OTHER=7"};
  for (const char* name :
       {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "SLURM_STEP_GPUS", "SLURM_GPUS_ON_NODE"}) {
    EXPECT_EQ(value(name), "(unset)") << name;
    EXPECT_EQ(batch_value(name), "(unset)") << name;
  }
  EXPECT_EQ(value("OTHER"), "7");
  give(launch.job_grant, Bitmap::range(0, 2));  // the job's are not the step's
  EXPECT_EQ(value("CUDA_VISIBLE_DEVICES"), "(unset)");
  EXPECT_EQ(batch_value("CUDA_VISIBLE_DEVICES"), "0,1");
  EXPECT_EQ(batch_value("SLURM_JOB_GPUS"), "0,1");
}

TEST_F(TaskEnvironmentTest, WhereNoGpusAreConfiguredTheListsAreTheUsers) {
  user = {"CUDA_VISIBLE_DEVICES=7"};
  launch.pools.clear();
  EXPECT_EQ(value("CUDA_VISIBLE_DEVICES"), "7");
}

TEST_F(TaskEnvironmentTest, GpusOfTheStepAndOfEachTask) {
  give(launch.job_grant, Bitmap::range(0, 2));
  give(launch.step_grant, Bitmap::range(0, 2));
  EXPECT_EQ(value("CUDA_VISIBLE_DEVICES", 1), "0,1");
  EXPECT_EQ(value("SLURM_STEP_GPUS"), "0,1");
  EXPECT_EQ(value("SLURM_GPUS_ON_NODE"), "2");
  step.text.set(StepText::kGpuBind, "map:1,0");
  EXPECT_EQ(value("CUDA_VISIBLE_DEVICES", 0), "1");
  EXPECT_EQ(value("CUDA_VISIBLE_DEVICES", 1), "0");
}

TEST_F(TaskEnvironmentTest, StepGpusAreThoseThatTheTaskIsBoundTo) {
  user = {"SLURM_STEP_GPUS=7"};
  give(launch.job_grant, Bitmap::range(0, 2));
  give(launch.step_grant, Bitmap::range(0, 2));
  EXPECT_EQ(value("SLURM_STEP_GPUS", 1), "0,1");
  step.text.set(StepText::kGresPerTask, "gpu:1");
  EXPECT_EQ(value("SLURM_STEP_GPUS", 0), "0");
  EXPECT_EQ(value("SLURM_STEP_GPUS", 1), "1");
  EXPECT_EQ(value("SLURM_GPUS_ON_NODE", 1), "2") << "all of the step's";
  EXPECT_EQ(value("CUDA_VISIBLE_DEVICES", 1), "1");
  EXPECT_EQ(batch_value("SLURM_STEP_GPUS"), "(unset)");
}

TEST_F(TaskEnvironmentTest, TheHostOfSrunIsAnAddress) {
  step.text.set(StepText::kSubmitHost, "192.0.2.7");
  EXPECT_EQ(value("SLURM_SRUN_COMM_HOST"), "192.0.2.7");
  EXPECT_EQ(value("SLURM_LAUNCH_NODE_IPADDR"), "192.0.2.7");
}

TEST_F(TaskEnvironmentTest, AStepCountsItsOwnCpus) {
  launch.step_grant.cpus = Bitmap::range(0, 3);
  EXPECT_EQ(value("SLURM_CPUS_ON_NODE"), "3");
  EXPECT_EQ(value("SLURM_JOB_CPUS_PER_NODE"), "4");
  EXPECT_EQ(batch_value("SLURM_CPUS_ON_NODE"), "4");
}

TEST_F(TaskEnvironmentTest, AStepsOwnMemoryReplacesTheJobs) {
  job.request.edit()->memory_scope = MemoryScope::kPerCpu;
  job.request.edit()->memory_mib = 500;
  EXPECT_EQ(value("SLURM_MEM_PER_CPU"), "500");
  step.memory_scope = MemoryScope::kPerNode;
  step.memory_mib = 1024;
  EXPECT_EQ(value("SLURM_MEM_PER_NODE"), "1024");
  EXPECT_EQ(value("SLURM_MEM_PER_CPU"), "(unset)");
}

TEST_F(TaskEnvironmentTest, TheFolderOfSubmissionIsNotWhereTheJobRuns) {
  EXPECT_EQ(value("SLURM_SUBMIT_DIR"), "/work");
  job.text.set(JobText::kSubmitDir, "/home/ada");
  EXPECT_EQ(value("SLURM_SUBMIT_DIR"), "/home/ada");
  EXPECT_EQ(batch_value("SLURM_SUBMIT_DIR"), "/home/ada");
}

TEST_F(TaskEnvironmentTest, AQosIsToldOnlyWhereTheJobHasOne) {
  EXPECT_EQ(value("SLURM_JOB_QOS"), "(unset)");
  job.text.set(JobText::kQos, "high");
  EXPECT_EQ(value("SLURM_JOB_QOS"), "high");
}

TEST_F(TaskEnvironmentTest, AStepsOwnDistributionReplacesTheJobs) {
  job.given = given_option::kDistribution;
  job.text.set(JobText::kDistribution, "plane=2");
  EXPECT_EQ(value("SLURM_DIST_PLANESIZE"), "2");
  step.text.set(StepText::kDistribution, "cyclic");
  EXPECT_EQ(value("SLURM_DISTRIBUTION"), "cyclic");
  EXPECT_EQ(value("SLURM_DIST_PLANESIZE"), "(unset)");
}

TEST_F(TaskEnvironmentTest, CpuBinding) {
  EXPECT_EQ(value("SLURM_CPU_BIND"), "quiet,mask_cpu:0xF");
  step.text.set(StepText::kCpuBind, "verbose,threads");
  EXPECT_EQ(value("SLURM_CPU_BIND"), "verbose,mask_cpu:0x1,0x2");
  EXPECT_EQ(value("SLURM_CPU_BIND_LIST"), "0x1,0x2");
  EXPECT_EQ(value("SLURM_CPU_BIND_VERBOSE"), "verbose");
  step.text.set(StepText::kCpuBind, "none");
  user = {"SLURM_CPU_BIND_LIST=0x1"};
  EXPECT_EQ(value("SLURM_CPU_BIND"), "quiet,none");
  EXPECT_EQ(value("SLURM_CPU_BIND_LIST"), "(unset)");
}

TEST_F(TaskEnvironmentTest, ResourcesPerTask) {
  step.is_cpus_per_task_given = true;
  step.cpus_per_task = 2;
  step.text.set(StepText::kGresPerTask, "gpu:1");
  EXPECT_EQ(value("SLURM_TRES_PER_TASK"), "cpu=2,gres/gpu=1");
}

TEST(SearchFolder, StandsLastAndOnce) {
  Environment environment;
  add_search_folder(environment, "/opt/muster/bin");
  EXPECT_EQ(get_variable(environment, "PATH"),
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/muster/bin");
  set_variable(environment, "PATH", "/usr/bin:/bin");
  add_search_folder(environment, "/opt/muster/bin");
  add_search_folder(environment, "/opt/muster/bin");
  EXPECT_EQ(get_variable(environment, "PATH"), "/usr/bin:/bin:/opt/muster/bin");
}

}  // namespace
}  // namespace muster

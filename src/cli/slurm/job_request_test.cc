// The job and the steps that the options of a command line make, and what they inherit.
#include "cli/slurm/job_request.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "cli/slurm/testing.h"
#include "slurm/environment_text.h"

namespace muster::cli {
namespace {

using namespace testing;

SubmittingProcess test_scene() {
  SubmittingProcess scene;
  scene.command_line = {"sbatch", "-n4", "x.sh"};
  scene.work_dir = "/home/ada";
  scene.host = "login";
  scene.limits = "NOFILE=1024,CORE=0";
  scene.environment = {"PATH=/bin",     "SLURM_JOB_ID=7", "SLURM_NTASKS=3",
                       "SLURM_CONF=/c", "SBATCH_QOS=q",   "SLURM_JWT=secret"};
  return scene;
}

TEST(JobRequest, FillsWhereItComesFrom) {
  const JobSpec job =
      job_of(completed(Submitter::kBatch, {"-n4", "-D", "sub", "--propagate=CORE"}), test_scene());
  EXPECT_EQ(job.get(JobText::kWorkDir), "/home/ada/sub");
  EXPECT_EQ(job.get(JobText::kSubmitLine), "sbatch -n4 x.sh");
  EXPECT_EQ(job.get(JobText::kRlimits), "CORE=0");
  EXPECT_EQ(job.get(JobText::kSubmitHost), "login");
}

TEST(JobRequest, StepsOfAnyJobGoByHowItsTasksAreToBeBound) {
  const std::string file = ::testing::TempDir() + "export-file-" + std::to_string(::getpid());
  std::ofstream(file) << "A=1" << '\0';
  for (const Words& more : {Words{}, {"--export=NONE"}, {"--export-file=" + file}}) {
    Words words = {"--gpu-bind=single:1", "--hint=nomultithread"};
    words.insert(words.end(), more.begin(), more.end());
    const auto exported = exported_environment(completed(Submitter::kBatch, words), test_scene());
    ASSERT_TRUE(exported.has_value());
    EXPECT_EQ(get_variable(*exported, "SLURM_GPU_BIND"), "single:1");
    EXPECT_EQ(get_variable(*exported, "SLURM_HINT"), "nomultithread");
  }
  std::filesystem::remove(file);
  Environment of_allocation;
  add_step_defaults(of_allocation,
                    completed(Submitter::kAllocate, {"--tres-bind=gres/gpu:single:1", "-O"}));
  EXPECT_EQ(of_allocation, (Environment{"SLURM_GPU_BIND=single:1", "SLURM_OVERCOMMIT=1"}));
}

TEST(JobRequest, NestedSubmissionDropsTheJobsVariables) {
  SubmittingProcess scene = test_scene();
  scene.nice = 5;
  const auto nested = exported_environment(completed(Submitter::kBatch, {}), scene);
  EXPECT_EQ(nested.value(),
            (Environment{"PATH=/bin", "SLURM_CONF=/c", "SBATCH_QOS=q", "SLURM_PRIO_PROCESS=5"}));
  const auto step = exported_environment(completed(Submitter::kRun, {"true"}), test_scene());
  EXPECT_TRUE(get_variable(step.value(), "SLURM_NTASKS").has_value());
  EXPECT_FALSE(get_variable(step.value(), "SLURM_JWT").has_value());
}

TEST(JobRequest, StepsTakeTheirStreamsAndExactness) {
  const SubmitOptions options = completed(
      Submitter::kRun, {"-n4", "-c2", "-o", "none", "-i", "3", "--jobid=7", "python", "-u"});
  const StepSpec step = step_of(options, test_scene(), {"python", "-u"});
  EXPECT_TRUE(step.is_exact);
  EXPECT_EQ(step.get(StepText::kStdOut), "/dev/null");
  EXPECT_EQ(step.get(StepText::kInputTask), "3");
  EXPECT_EQ(step.get(StepText::kStdIn), "");
  EXPECT_EQ(step.get(StepText::kCommand), std::string_view("python\0-u", 9));
  EXPECT_EQ(step.get(StepText::kName), "python");
  EXPECT_EQ(step.cpus_per_task, 2U);
  EXPECT_FALSE(
      step_of(completed(Submitter::kRun, {"-c2", "--whole", "a"}), test_scene(), {"a"}).is_exact);
}

TEST(JobRequest, ATasksNumberIsThatTasksStreamAlone) {
  const auto step_with = [](const Words& words) {
    return step_of(completed(Submitter::kRun, words), test_scene(), {"a"});
  };
  const StepSpec first = step_with({"-n2", "-o", "1", "-e", "err.txt", "a"});
  EXPECT_EQ(first.get(StepText::kOutputTask), "1");
  EXPECT_EQ(first.get(StepText::kStdOut), "");
  EXPECT_EQ(first.get(StepText::kErrorTask), "");
  EXPECT_EQ(first.get(StepText::kStdErr), "err.txt");
  const StepSpec second = step_with({"-n2", "-o", "2", "-e", "all", "-i", "2", "a"});
  EXPECT_EQ(second.get(StepText::kOutputTask), "");  // no task has that number: a file's name
  EXPECT_EQ(second.get(StepText::kStdOut), "2");
  EXPECT_EQ(second.get(StepText::kErrorTask), "all");
  EXPECT_EQ(second.get(StepText::kStdIn), "2");
}

TEST(JobRequest, TheFolderOfSubmissionIsKeptWhereTheJobRunsElsewhere) {
  EXPECT_EQ(
      job_of(completed(Submitter::kBatch, {"-D", "sub"}), test_scene()).get(JobText::kSubmitDir),
      "/home/ada");
  EXPECT_EQ(job_of(completed(Submitter::kBatch, {}), test_scene()).get(JobText::kSubmitDir), "");
}

/// What the step of that srun command line says under the key.
std::string step_text(const Words& words, StepText key) {
  return std::string(step_of(completed(Submitter::kRun, words), test_scene(), {"a"}).get(key));
}
std::string bind_of(const Words& words) { return step_text(words, StepText::kGpuBind); }

TEST(JobRequest, NoDevicesIsNotNothingSaid) {
  const auto gres_of = [](const Words& words) { return step_text(words, StepText::kGresPerStep); };
  EXPECT_EQ(gres_of({"a"}), "");
  EXPECT_EQ(gres_of({"--gres=none", "a"}), "none");
  EXPECT_EQ(gres_of({"--gpus=0", "a"}), "none");
  EXPECT_EQ(gres_of({"--gpus=2", "a"}), "gpu:2");
}

TEST(JobRequest, TasksPerGpuBindUnlessABindingIsGiven) {
  EXPECT_EQ(bind_of({"-G2", "--ntasks-per-gpu=2", "a"}), "single:2");
  EXPECT_EQ(bind_of({"-G2", "--ntasks-per-gpu=2", "--gpu-bind=none", "a"}), "none");
  EXPECT_EQ(bind_of({"-G2", "a"}), "");
}

TEST(JobRequest, TasksThatShareDevicesAreBoundToNone) {
  EXPECT_EQ(bind_of({"-G2", "--gres-flags=allow-task-sharing", "a"}), "none");
  EXPECT_EQ(bind_of({"-G2", "--gres-flags=enforce-binding", "a"}), "");
}

/// What srun makes of the variables of the job around it.

}  // namespace
}  // namespace muster::cli

// What scripts see of a refusal: its lines, in Slurm's order, and its exit code. Only codes and
// causes decide: the texts here are none of the controller's own.
#include "cli/slurm/submit_refusal.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

namespace muster::cli {
namespace {

struct Said {
  int exit_code = 0;
  std::string text;
};

Said said_by(const std::function<int(const Console&)>& refuse) {
  ::unsetenv("SLURM_EXIT_ERROR");
  ::testing::internal::CaptureStderr();
  Said said;
  said.exit_code = refuse(Console("sbatch"));
  said.text = ::testing::internal::GetCapturedStderr();
  return said;
}
Said refused_job(const Error& error) {
  return said_by([&](const Console& c) { return refuse_job(c, Submitter::kBatch, error); });
}
Said refused_value(const OptionValue& option, const Error& error) {
  return said_by(
      [&](const Console& c) { return refuse_value(c, Submitter::kBatch, option, error); });
}

TEST(SubmitRefusal, AnUnknownPartitionIsKnownByItsCause) {
  Error error{ErrorCode::kInvalidArgument, "Invalid partition name specified",
              "no partition is called gpu9", ErrorCause::kUnknownPartition};
  const Said said = refused_job(error);
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_EQ(said.text,
            "sbatch: error: no partition is called gpu9\n"
            "sbatch: error: Batch job submission failed: Invalid partition name specified\n"
            "sbatch: error: sinfo shows the partitions that there are\n");
  error.cause = ErrorCause::kNone;  // the same words alone mean nothing
  EXPECT_EQ(refused_job(error).text,
            "sbatch: error: Batch job submission failed: Invalid partition name specified\n"
            "sbatch: error: no partition is called gpu9\n");
}

TEST(SubmitRefusal, MemoryThatNoNodeHasComesWithSlurmsLineBefore) {
  const Said said = refused_job(Error{ErrorCode::kInvalidArgument,
                                      "Requested node configuration is not available",
                                      "900 GB are too many", ErrorCause::kMemoryUnavailable});
  EXPECT_EQ(said.text,
            "sbatch: error: Memory specification can not be satisfied\n"
            "sbatch: error: Batch job submission failed: Requested node configuration is not "
            "available\n"
            "sbatch: error: 900 GB are too many\n");
}

TEST(SubmitRefusal, ATestOnlyRefusalHasItsOwnLineAndExitCode) {
  ::setenv("SLURM_EXIT_ERROR", "44", 1);
  ::testing::internal::CaptureStderr();
  const int code = refuse_test(Console("sbatch"), Error{ErrorCode::kInvalidArgument, "Why", "how"});
  ::unsetenv("SLURM_EXIT_ERROR");
  EXPECT_EQ(code, 1);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "allocation failure: Why\nsbatch: error: how\n");
}

TEST(SubmitRefusal, WhatIsNoNumberNamesItsOption) {
  const Error error{ErrorCode::kInvalidArgument, "Invalid numeric value \"x\"", "",
                    ErrorCause::kNotANumber};
  const Said said = refused_value({"ntasks", "x"}, error);
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_EQ(said.text, "sbatch: error: Invalid numeric value \"x\" for --ntasks.\n");
  const Said from_environment = refused_value({"ntasks", "x", "from SLURM_NTASKS=x"}, error);
  EXPECT_EQ(from_environment.text,
            "sbatch: error: Invalid numeric value \"x\" for --ntasks.\n"
            "sbatch: error: from SLURM_NTASKS=x\n");
}

TEST(SubmitRefusal, AVariableWithoutAnOptionGoesByItsOwnName) {
  const Error no_number{ErrorCode::kInvalidArgument, "Invalid numeric value \"x\"", "",
                        ErrorCause::kNotANumber};
  EXPECT_EQ(refused_value({"SLURM_DEBUG", "x"}, no_number).text,
            "sbatch: error: Invalid numeric value \"x\" for SLURM_DEBUG.\n");
  const Error other{ErrorCode::kInvalidArgument, "it cannot be read", ""};
  EXPECT_EQ(refused_value({"SLURM_HOSTFILE", "/x"}, other).text,
            "sbatch: error: Invalid SLURM_HOSTFILE specification: it cannot be read\n");
}

TEST(SubmitRefusal, ANodeCountIsSaidWholeAndIsABadOption) {
  const Error error{ErrorCode::kInvalidArgument, "\"0\" is not a valid node count", "",
                    ErrorCause::kNodeCount};
  const Said said = refused_value({"nodes", "0"}, error);
  EXPECT_EQ(said.exit_code, kExitBadOption);
  EXPECT_EQ(said.text,
            "sbatch: error: \"0\" is not a valid node count\nsbatch: error: --nodes=0\n");
}

TEST(SubmitRefusal, OptionsThatExcludeEachOtherAreFatal) {
  const Said said = refused_value(
      {"mem-per-cpu", "1G"},
      Error{ErrorCode::kInvalidArgument, "both were given", "", ErrorCause::kExclusiveOptions});
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_EQ(said.text, "sbatch: fatal: both were given\n");
}

TEST(SubmitRefusal, WhatSlurmLeavesToItsControllerReadsAsTheControllers) {
  const Error error{ErrorCode::kInvalidArgument, "a bracket is open", ""};
  const Said said = refused_value({"array", "[1"}, error);
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_EQ(said.text,
            "sbatch: error: Batch job submission failed: Invalid job array specification\n"
            "sbatch: error: --array=[1: a bracket is open\n");
  EXPECT_EQ(refused_value({"gres", "gpu:x:y:z"}, error).text,
            "sbatch: error: Invalid generic resource (gres) specification\n"
            "sbatch: error: --gres=gpu:x:y:z: a bracket is open\n");
  EXPECT_EQ(refused_value({"time", "[1"}, error).exit_code, kExitBadOption);
}

TEST(RefuseJob, SlurmsLinesStandAloneAndFirst) {
  const auto told = [](const Error& error) {
    const Console console("srun");
    ::testing::internal::CaptureStderr();
    refuse_job(console, Submitter::kRun, error);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_TRUE(
      told({ErrorCode::kInvalidArgument, "Invalid partition name specified",
            "invalid partition specified: nosuch", ErrorCause::kUnknownPartition})
          .starts_with(
              "srun: error: invalid partition specified: nosuch\n"
              "srun: error: Unable to allocate resources: Invalid partition name specified\n"));
  EXPECT_EQ(
      told({ErrorCode::kInvalidArgument, "Requested node configuration is not available",
            "memory (MiB): 9 asked for, the best node has 4", ErrorCause::kMemoryUnavailable}),
      "srun: error: Memory specification can not be satisfied\n"
      "srun: error: Unable to allocate resources: Requested node configuration is not available\n"
      "srun: error: memory (MiB): 9 asked for, the best node has 4\n");
}

}  // namespace
}  // namespace muster::cli

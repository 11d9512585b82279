#include "cli/slurm/submit_options.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "cli/lib/testing.h"
#include "cli/slurm/job_request.h"
#include "cli/slurm/submit_refusal.h"
#include "cli/slurm/testing.h"
#include "slurm/rank_layout.h"
#include "text/words.h"

namespace muster::cli {
namespace {

using namespace testing;

/// The names of sbatch(1), srun(1) and salloc(1) as one list.
constexpr const char* kUniverse =
    "accel-bind account acctg-freq array async batch bb bbf bcast bcast-exclude begin bell chdir "
    "cluster-constraint clusters comment "
    "compress consolidate-segments constraint container container-id context contiguous core-spec "
    "cores-per-socket cpu-bind cpu-freq "
    "cpus-per-gpu cpus-per-task deadline delay-boot dependency disable-status distribution epilog "
    "error exact exclude exclusive export "
    "export-file external extra extra-node-info get-user-env gid gpu-bind gpu-freq gpus "
    "gpus-per-node gpus-per-socket gpus-per-task gres "
    "gres-flags het-group hint hold ignore-pbs ignore-signals immediate input interactive job-name "
    "jobid kill-command kill-on-bad-exit "
    "kill-on-invalid-dep label licenses mail-type mail-user mcs-label mem mem-bind mem-per-cpu "
    "mem-per-gpu mem-update mincpus mpi "
    "msg-timeout multi-prog network nice no-allocate no-bell no-kill no-requeue no-shell nodefile "
    "nodelist nodes ntasks ntasks-per-core "
    "ntasks-per-gpu ntasks-per-node ntasks-per-socket ntasks-per-tres oom-kill-step open-mode "
    "output overcommit overlap oversubscribe "
    "parsable partition prefer preserve-env priority profile prolog propagate pty qos quiet "
    "quit-on-interrupt reboot relative requeue "
    "reservation resources resv-ports runtime segment send-libs signal slurmd-debug "
    "sockets-per-node spread-job spread-segments stepmgr "
    "switches task-epilog task-prolog tasks-per-node test-only thread-spec threads "
    "threads-per-core time time-min tmp treewidth tres-bind "
    "tres-per-task uid umask unbuffered use-min-nodes wait wait-all-nodes wait-for-children wckey "
    "whole wrap x11 verbose";

std::string error_of(const Words& words) {
  ::testing::internal::CaptureStderr();
  const Read result = read(Submitter::kBatch, words);
  EXPECT_TRUE(result.words.exit_code.has_value());
  return ::testing::internal::GetCapturedStderr();
}

TEST(SubmitRows, EveryNameIsHonouredRecordedOrRefused) {
  std::set<std::string> known;
  for (const SubmitRow& row : submit_rows()) {
    known.insert(row.name);
    EXPECT_EQ(row.set == nullptr, row.use == OptionUse::kRefused) << row.name;
    EXPECT_NE(row.commands, 0) << row.name;
  }
  for (const std::string& name : split_list(kUniverse, ' '))
    EXPECT_TRUE(known.contains(name)) << name;
}

TEST(SubmitRows, LettersAreUniquePerCommand) {
  for (const Submitter by : {Submitter::kBatch, Submitter::kRun, Submitter::kAllocate}) {
    std::set<char> letters;
    std::set<std::string> names;
    for (const SubmitRow& row : submit_rows()) {
      if (!has_option(row, by)) continue;
      if (row.letter != 0) {
        EXPECT_TRUE(letters.insert(row.letter).second) << row.letter;
      }
      EXPECT_TRUE(names.insert(row.name).second) << row.name;
    }
  }
}

TEST(SubmitRows, VariablesNameOptionsOfTheirCommands) {
  for (const SubmitVariable& variable : submit_variables()) {
    for (const Submitter by : {Submitter::kBatch, Submitter::kRun, Submitter::kAllocate}) {
      if ((variable.commands & static_cast<std::uint8_t>(by)) == 0 || variable.option == nullptr)
        continue;
      const bool is_there = std::ranges::any_of(submit_rows(), [&](const SubmitRow& row) {
        return std::string_view(row.name) == variable.option && has_option(row, by);
      });
      EXPECT_TRUE(is_there) << variable_name(variable, by);
    }
  }
}

/// The input variables of the three manuals: after the prefix, or whole where a name stands for
/// itself.
constexpr const char* kOfAll =
    "ACCOUNT ACCTG_FREQ BURST_BUFFER CLUSTERS CLUSTER_CONSTRAINT CONSOLIDATE_SEGMENTS CONSTRAINT "
    "CORE_SPEC CPU_FREQ_REQ CPUS_PER_GPU "
    "DELAY_BOOT EXCLUSIVE GPUS GPU_BIND GPU_FREQ GPUS_PER_NODE GPUS_PER_SOCKET GPUS_PER_TASK GRES "
    "GRES_FLAGS HINT MEM_BIND MEM_PER_CPU "
    "MEM_PER_GPU MEM_PER_NODE NETWORK NO_KILL OVERCOMMIT PARTITION POWER PROFILE QOS REQ_SWITCH "
    "RESERVATION SEGMENT_SIZE SIGNAL SPREAD_JOB "
    "SPREAD_SEGMENTS THREAD_SPEC THREADS_PER_CORE TIMELIMIT TRES_BIND TRES_PER_TASK USE_MIN_NODES "
    "WAIT4SWITCH WCKEY DEBUG";
constexpr const char* kOfAllocations =
    "CONTAINER CONTAINER_ID CONTAINER_TYPE WAIT_ALL_NODES SLURM_CLUSTERS SLURM_HINT";
constexpr const char* kOfSalloc = "BELL NO_BELL IMMEDIATE KILL_CMD";
constexpr const char* kOfSbatch =
    "ARRAY_INX BATCH DISTRIBUTION ERROR EXPORT GET_USER_ENV INPUT JOB_NAME NO_REQUEUE OPEN_MODE "
    "OUTPUT REQUEUE WAIT";
constexpr const char* kOfSrun =
    "BCAST BCAST_EXCLUDE COMPRESS CPU_BIND CPUS_PER_TASK DEPENDENCY DISABLE_STATUS DISTRIBUTION "
    "EPILOG EXACT EXPORT_ENV SRUN_EXPORT_ENV "
    "EXTERNAL_LAUNCHER JOB_ID JOB_NAME JOB_NODELIST JOB_NUM_NODES KILL_BAD_EXIT LABELIO MPI_TYPE "
    "NCORES_PER_SOCKET NPROCS "
    "NSOCKETS_PER_NODE NTASKS NTASKS_PER_CORE NTASKS_PER_NODE NTASKS_PER_GPU NTASKS_PER_TRES "
    "OOM_KILL_STEP OPEN_MODE OVERLAP PROLOG "
    "REMOTE_CWD WORKING_DIR RESV_PORTS SEND_LIBS SRUN_MULTI STDERRMODE STDINMODE STDOUTMODE "
    "TASK_EPILOG TASK_PROLOG THREADS UNBUFFEREDIO "
    "WAIT SRUN_CONTAINER SRUN_CONTAINER_ID SRUN_CONTAINER_TYPE SRUN_ERROR SRUN_INPUT SRUN_OUTPUT "
    "SRUN_SEGMENT_SIZE SLURMD_DEBUG EXIT_ERROR "
    "EXIT_IMMEDIATE HOSTFILE ARBITRARY_NODELIST DIST_PLANESIZE STEP_GRES SRUN_REDUCE_TASK_EXIT_MSG "
    "TEST_EXEC UMASK WORKING_CLUSTER "
    "STEP_KILLED_MSG_NODE_ID";

TEST(SubmitRows, EveryInputVariableIsHonouredOrRefused) {
  const auto expect_known = [](const char* names, Submitter by) {
    for (const std::string& name : split_list(names, ' ')) {
      const bool is_known =
          std::ranges::any_of(submit_variables(), [&](const SubmitVariable& variable) {
            return name == variable.suffix &&
                   (variable.commands & static_cast<std::uint8_t>(by)) != 0;
          });
      EXPECT_TRUE(is_known) << variable_prefix(by) << name;
    }
  };
  for (const Submitter by : {Submitter::kBatch, Submitter::kRun, Submitter::kAllocate})
    expect_known(kOfAll, by);
  for (const Submitter by : {Submitter::kBatch, Submitter::kAllocate})
    expect_known(kOfAllocations, by);
  expect_known(kOfSalloc, Submitter::kAllocate);
  expect_known(kOfSbatch, Submitter::kBatch);
  expect_known(kOfSrun, Submitter::kRun);
}

/// What is said when the variable is set; empty: it was taken.
std::string said_of(Submitter by, const std::string& name, const std::string& value,
                    SubmitOptions& options) {
  ::setenv(name.c_str(), value.c_str(), 1);
  options.by = by;
  options.context = test_context();
  ::testing::internal::CaptureStderr();
  const Console console("x");
  SubmitReader(console, options).read_environment();
  ::unsetenv(name.c_str());
  return ::testing::internal::GetCapturedStderr();
}

TEST(SubmitRows, AFlagIsSetByWhatSlurmTakesForYes) {
  const auto is_labelled = [](const char* value) {
    SubmitOptions options;
    EXPECT_EQ(said_of(Submitter::kRun, "SLURM_LABELIO", value, options), "") << value;
    return options.step.is_label;
  };
  for (const char* value : {"", "1", "2", "-1", "01", "yes", "YES"})
    EXPECT_TRUE(is_labelled(value)) << value;
  for (const char* value : {"0", "00", "no", "true", "on", "y", " ", "5x"})
    EXPECT_FALSE(is_labelled(value)) << value;
}

TEST(SubmitRows, AnEmptyVariableSaysNothingOrIsRefusedAsBySlurm) {
  const auto said = [](Submitter by, const char* name) {
    SubmitOptions options;
    return said_of(by, name, "", options);
  };
  for (const char* name :
       {"SLURM_ACCOUNT", "SLURM_QOS", "SLURM_CONSTRAINT", "SLURM_CPUS_PER_TASK", "SLURM_DEPENDENCY",
        "SLURM_EXCLUSIVE", "SLURM_IMMEDIATE", "SLURM_JOB_NAME", "SLURM_NNODES", "SLURM_STDOUTMODE",
        "SLURM_WAIT", "SLURM_REMOTE_CWD"})
    EXPECT_EQ(said(Submitter::kRun, name), "") << name;
  for (const char* name : {"SBATCH_ARRAY_INX", "SBATCH_EXCLUSIVE", "SBATCH_GET_USER_ENV",
                           "SBATCH_OUTPUT", "SBATCH_UMASK"})
    EXPECT_EQ(said(Submitter::kBatch, name), "") << name;
  for (const char* name : {"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_TIMELIMIT", "SLURM_MEM_PER_CPU",
                           "SLURM_SIGNAL", "SLURM_HINT", "SLURM_DISTRIBUTION", "SLURM_OPEN_MODE",
                           "SLURM_JOB_NUM_NODES", "SLURM_NTASKS_PER_NODE"})
    EXPECT_NE(said(Submitter::kRun, name).find(std::string("from ") + name + "="),
              std::string::npos)
        << name;
}

TEST(SubmitRows, VariablesOfRefusedThingsAreRefusedByName) {
  for (const SubmitVariable& variable : submit_variables()) {
    const auto row = std::ranges::find_if(submit_rows(), [&](const SubmitRow& r) {
      return variable.option != nullptr && std::string_view(r.name) == variable.option;
    });
    const bool is_refused =
        variable.option == nullptr ? variable.set == nullptr : row->use == OptionUse::kRefused;
    if (!is_refused) continue;
    for (const Submitter by : {Submitter::kBatch, Submitter::kRun, Submitter::kAllocate}) {
      if ((variable.commands & static_cast<std::uint8_t>(by)) == 0) continue;
      const std::string name = variable_name(variable, by);
      SubmitOptions options;
      EXPECT_NE(said_of(by, name, "3", options).find("from " + name + "=3"), std::string::npos)
          << name;
    }
  }
}

TEST(SubmitRows, VariablesHaveTheEffectOfTheirOptions) {
  SubmitOptions options;
  EXPECT_EQ(said_of(Submitter::kRun, "SLURM_SRUN_REDUCE_TASK_EXIT_MSG", "0", options), "");
  EXPECT_FALSE(options.is_exit_report_brief);
  EXPECT_EQ(said_of(Submitter::kRun, "SLURM_SRUN_REDUCE_TASK_EXIT_MSG", "1", options), "");
  EXPECT_TRUE(options.is_exit_report_brief);
  EXPECT_EQ(said_of(Submitter::kRun, "SLURM_NPROCS", "3", options), "");
  EXPECT_EQ(options.job.request->task_count, 3U);
  EXPECT_EQ(said_of(Submitter::kRun, "SRUN_OUTPUT", "x.out", options), "");
  EXPECT_EQ(options.job.get(JobText::kStdOut), "x.out");
  EXPECT_EQ(said_of(Submitter::kRun, "SLURM_HINT", "nomultithread", options), "");
  EXPECT_EQ(options.job.request->threads_per_core, 1U);
  EXPECT_EQ(said_of(Submitter::kBatch, "SBATCH_TRES_BIND", "gres/gpu:single:2", options), "");
  EXPECT_EQ(options.step.get(StepText::kGpuBind), "single:2");
  EXPECT_EQ(said_of(Submitter::kBatch, "SBATCH_SPREAD_JOB", "1", options), "");
  EXPECT_TRUE(options.job.is_spread);
}

TEST(SubmitReader, TheMaskOfFilesHasTwoVariables) {
  SubmitOptions options;
  EXPECT_EQ(said_of(Submitter::kBatch, "SLURM_UMASK", "0077", options), "");
  EXPECT_EQ(options.umask, 077U);
  EXPECT_EQ(said_of(Submitter::kBatch, "SBATCH_UMASK", "0027", options), "");
  EXPECT_EQ(options.umask, 027U);
  EXPECT_NE(
      said_of(Submitter::kBatch, "SLURM_UMASK", "garbage", options).find("SLURM_UMASK=garbage"),
      std::string::npos);
}

TEST(SubmitReader, AnOverlapMayBeSwitchedOnAndOff) {
  SubmitOptions options;
  for (const char* value : {"1", "yes", "force", "TRUE"}) {
    options.step.is_overlap = false;
    EXPECT_EQ(said_of(Submitter::kRun, "SLURM_OVERLAP", value, options), "");
    EXPECT_TRUE(options.step.is_overlap) << value;
  }
  EXPECT_EQ(said_of(Submitter::kRun, "SLURM_OVERLAP", "0", options), "");
  EXPECT_FALSE(options.step.is_overlap);
  EXPECT_NE(said_of(Submitter::kRun, "SLURM_OVERLAP", "perhaps", options), "");
}

std::string collect_error(Submitter by, const Words& words) {
  Read result = read(by, words);
  Words warnings;
  const Status completed = complete_request(result.options, warnings);
  return completed.has_value() ? "" : completed.error().text();
}

TEST(CompleteRequest, ContradictionsAreRefused) {
  EXPECT_NE(collect_error(Submitter::kBatch, {"--gpus=1", "-N2"})
                .find("--gpus=1 is less than the 2 nodes"),
            std::string::npos);
  EXPECT_NE(
      collect_error(Submitter::kBatch, {"--gpus=2", "--ntasks-per-gpu=2", "--gpus-per-task=2"})
          .find("mutually exclusive"),
      std::string::npos);
  EXPECT_NE(collect_error(Submitter::kBatch, {"--hint=nomultithread", "--threads-per-core=1"})
                .find("mutually exclusive"),
            std::string::npos);
  EXPECT_NE(collect_error(Submitter::kBatch, {"-N2", "--no-kill"})
                .find("--no-kill for a job of several nodes"),
            std::string::npos);
  EXPECT_NE(collect_error(Submitter::kBatch, {"-n4", "--ntasks-per-socket=1", "-N2"})
                .find("--ntasks-per-socket"),
            std::string::npos);
  EXPECT_EQ(collect_error(Submitter::kBatch, {"-N1", "--no-kill"}), "");
  EXPECT_NE(error_of({"-m", "block:garbage"}).find("Invalid --distribution specification"),
            std::string::npos);
  EXPECT_NE(error_of({"--hint=memory_bound"}).find("not supported by Muster yet"),
            std::string::npos);
  EXPECT_EQ(read(Submitter::kBatch, {"--reservation=", "-m", "block:cyclic,Pack"}).words.exit_code,
            std::nullopt);
}

TEST(CompleteRequest, HintsAndBoundsOnTasks) {
  EXPECT_TRUE(completed(Submitter::kBatch, {"-N2", "--no-kill=no"}).job.is_kill_on_node_fail);
  EXPECT_FALSE(completed(Submitter::kBatch, {"--wait-all-nodes=0"}).job.wait_all_nodes);
  for (const char* hint : {"--hint=nomultithread", "--hint=compute_bound"})
    EXPECT_EQ(completed(Submitter::kBatch, {hint}).job.request->threads_per_core, 1U) << hint;
  EXPECT_EQ(completed(Submitter::kBatch, {"--hint=multithread"}).job.request->threads_per_core, 0U);
  EXPECT_EQ(
      completed(Submitter::kBatch, {"-n4", "--ntasks-per-core=1"}).job.request->threads_per_core,
      1U);
  EXPECT_EQ(completed(Submitter::kBatch, {"-N4", "-n8", "--ntasks-per-socket=2"})
                .job.request->tasks_per_node,
            2U);
  EXPECT_EQ(completed(Submitter::kBatch, {"-n6", "--spread-job"}).job.request->max_nodes, 6U);
  EXPECT_EQ(
      completed(Submitter::kRun, {"--gres=gpu:2", "--ntasks-per-gpu=2"}).job.request->task_count,
      4U);
}

TEST(SubmitRows, EveryRefusedOptionIsNamed) {
  for (const SubmitRow& row : submit_rows()) {
    if (row.use != OptionUse::kRefused || !has_option(row, Submitter::kBatch)) continue;
    const std::string word =
        "--" + std::string(row.name) + (row.takes == Takes::kNothing ? "" : "=1");
    EXPECT_EQ(error_of({word, "x"}),
              "sbatch: error: --" + std::string(row.name) + " is not supported by Muster yet\n");
  }
}

TEST(SubmitReader, FormsOfWords) {
  const SubmitOptions options =
      completed(Submitter::kBatch, {"-n4", "--cpus-per-t=2", "-N", "2-4", "--time", "1:30:00",
                                    "--mem=4G", "-Jname", "script", "-n", "9"});
  EXPECT_EQ(options.job.request->task_count, 4U);
  EXPECT_EQ(options.job.request->cpus_per_task, 2U);
  EXPECT_EQ(options.job.request->min_nodes, 2U);
  EXPECT_EQ(options.job.request->max_nodes, 4U);
  EXPECT_EQ(options.job.time_limit, Duration::minutes(90));
  EXPECT_EQ(options.job.request->memory_mib, 4096U);
  EXPECT_EQ(options.job.name(), "name");
  EXPECT_EQ(read(Submitter::kBatch, {"-n4", "script", "-n", "9"}).words.operands,
            (Words{"script", "-n", "9"}));
}

TEST(SubmitReader, BadValuesNameTheirOption) {
  EXPECT_EQ(error_of({"-n", "x"}), "sbatch: error: Invalid numeric value \"x\" for --ntasks.\n");
  EXPECT_TRUE(error_of({"--time=abc"}).starts_with("sbatch: error: Invalid --time specification"));
  for (const std::string name : {"wait-all-nodes", "no-kill"})
    EXPECT_TRUE(error_of({"--" + name + "=2"})
                    .starts_with("sbatch: error: Invalid --" + name + " specification"));
  EXPECT_TRUE(error_of({"--hint=x"})
                  .starts_with("sbatch: error: unrecognized --hint argument \"x\", see "));
  EXPECT_EQ(error_of({"--nodes=4-2"}),
            "sbatch: error: Maximum node count 2 is less than minimum node count 4\nsbatch: error: "
            "--nodes=4-2\n");
  EXPECT_EQ(error_of({"--nodes=x"}),
            "sbatch: error: \"x\" is not a valid node count\nsbatch: error: --nodes=x\n");
  EXPECT_EQ(error_of({"--mem=1G", "--mem-per-cpu=1G"}),
            "sbatch: fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.\n");
  EXPECT_TRUE(error_of({"--nonsense"}).starts_with("sbatch: unrecognized option '--nonsense'\n"));
  EXPECT_EQ(error_of({"--requeue=expedite"}),
            "sbatch: error: --requeue=expedite is not supported by Muster yet\n");
  EXPECT_EQ(error_of({"--exclusive=user"}),
            "sbatch: error: --exclusive=user is not supported by Muster yet\n");
}

/// What is said and the exit code, with SLURM_EXIT_ERROR=44.
std::string refusal_of(Submitter by, const Words& words) {
  ::setenv("SLURM_EXIT_ERROR", "44", 1);
  Read result;
  result.options.by = by;
  result.options.context = test_context();
  const Console console(by == Submitter::kBatch ? "sbatch"
                        : by == Submitter::kRun ? "srun"
                                                : "salloc");
  ::testing::internal::CaptureStderr();
  std::optional<int> code =
      SubmitReader(console, result.options).read(words, OptionSource::kCommandLine).exit_code;
  if (!code) code = complete_or_report(console, result.options);
  ::unsetenv("SLURM_EXIT_ERROR");
  return fmt::format("{}{}", ::testing::internal::GetCapturedStderr(), code.value_or(0));
}

TEST(SubmitReader, ExitCodesAreThoseOfSlurm) {
  const std::pair<Words, int> cases[] = {{{"--nosuch"}, 255},
                                         {{"-t", "x"}, 255},
                                         {{"--mem=x"}, 255},
                                         {{"-N", "x"}, 255},
                                         {{"-n", "x"}, 1},
                                         {{"-c", "0"}, 1},
                                         {{"--signal=x"}, 255},
                                         {{"--hint=x"}, 44},
                                         {{"-d", "x"}, 44},
                                         {{"-C", "["}, 44},
                                         {{"--gres=x:y:z:w"}, 44},
                                         {{"--mail-type=x"}, 255},
                                         {{"--exclusive=x"}, 44},
                                         {{"-M", "nosuch"}, 44},
                                         {{"--mem=1G", "--mem-per-cpu=1G"}, 1},
                                         {{"--gpus-per-task=1", "--ntasks-per-gpu=1"}, 1},
                                         {{"-n1"}, 0}};
  for (const Submitter by : {Submitter::kBatch, Submitter::kRun, Submitter::kAllocate}) {
    for (const auto& [words, code] : cases) {
      const std::string told = refusal_of(by, words);
      EXPECT_EQ(told.substr(told.rfind('\n') + 1), std::to_string(code))
          << words.front() << ": " << told;
    }
  }
  EXPECT_TRUE(
      refusal_of(Submitter::kBatch, {"-a", "x"})
          .starts_with(
              "sbatch: error: Batch job submission failed: Invalid job array specification\n"));
  EXPECT_TRUE(
      refusal_of(Submitter::kRun, {"-d", "x"})
          .starts_with("srun: error: Unable to allocate resources: Job dependency problem\n"));
  EXPECT_TRUE(refusal_of(Submitter::kAllocate, {"--deadline=2001-01-01"})
                  .starts_with("salloc: error: Job submit/allocate failed: Requested time limit is "
                               "invalid (missing or exceeds some limit)\n"));
}

TEST(SubmitReader, VariablesThatCannotBeReadEndAsTheirOptionsDo) {
  const auto code_of = [](const char* name, const char* value) {
    ::setenv(name, value, 1);
    SubmitOptions options;
    options.context = test_context();
    const Console console("sbatch");
    const auto code = SubmitReader(console, options).read_environment();
    ::unsetenv(name);
    return code;
  };
  EXPECT_EQ(code_of("SBATCH_TIMELIMIT", "x"), 255);
  EXPECT_EQ(code_of("SBATCH_CPUS_PER_GPU", "x"), 1);
  EXPECT_EQ(code_of("SBATCH_TIMELIMIT", "3"), std::nullopt);
}

TEST(CompleteRequest, WhatSlurmRefusesIsRefusedInItsWords) {
  constexpr Submitter kRun = Submitter::kRun;
  EXPECT_EQ(refusal_of(kRun, {"--relative=0"}),
            "srun: fatal: --relative option invalid for job allocation request\n1");
  EXPECT_EQ(refusal_of(kRun, {"--jobid=7", "--relative=0"}), "0");
  for (const Submitter by : {Submitter::kBatch, kRun, Submitter::kAllocate}) {
    const std::string told = refusal_of(by, {"-c4", "--cpus-per-gpu=2", "--gpus=1"});
    EXPECT_NE(told.find(": error: --cpus-per-gpu is mutually exclusive with --cpus-per-task\n"),
              std::string::npos)
        << told;
    EXPECT_NE(told.find(": error: Invalid generic resource (gres) specification\n44"),
              std::string::npos)
        << told;
  }
  constexpr Submitter kBatch = Submitter::kBatch;
  const auto has_line = [](const std::string& told, std::string_view line) {
    return told.find(line) != std::string::npos;
  };
  constexpr std::string_view kNoGres = "error: Invalid generic resource (gres) specification\n44";
  for (const Submitter by : {kBatch, kRun, Submitter::kAllocate}) {
    for (const Words& words : {Words{"--mem-per-gpu=100"},
                               {"--mem-per-gpu=100", "--gres=gpu:0"},
                               {"--mem-per-gpu=100", "-n2"}}) {
      const std::string told = refusal_of(by, words);
      EXPECT_TRUE(has_line(
          told, "error: Requested mem_per_tres=gres:gpu:100 but did not request any GPU.\n"))
          << told;
      EXPECT_TRUE(has_line(told, kNoGres)) << told;
    }
    for (const Words& words : {Words{"--mem-per-gpu=100", "--gpus=1"},
                               {"--mem-per-gpu=100", "--gpus-per-task=1", "-n1"},
                               {"--mem-per-gpu=100", "--ntasks-per-gpu=1", "-n2"},
                               {"--gpus-per-task=1", "-N2"},
                               {"--gpus-per-task=1", "--ntasks-per-node=2"},
                               {"--ntasks-per-gpu=2", "-N2"}}) {
      EXPECT_EQ(refusal_of(by, words), "0");
    }
    const std::string unbound = refusal_of(by, {"--ntasks-per-gpu=2"});
    EXPECT_TRUE(
        has_line(unbound, "needs either a GRES GPU specification or a node/ntask specification\n"))
        << unbound;
    EXPECT_TRUE(has_line(unbound, kNoGres)) << unbound;
    const std::string uncounted = refusal_of(by, {"--gpus-per-task=1"});
    EXPECT_TRUE(has_line(uncounted,
                         "Failed to validate job spec. --gpus-per-task used without either --gpus "
                         "or -n/--ntasks is not allowed.\n"));
    EXPECT_TRUE(has_line(uncounted, kNoGres)) << uncounted;
  }
  EXPECT_EQ(refusal_of(kBatch, {"--ntasks-per-gpu=1", "--ntasks-per-node=1", "--gpus=1"}),
            "sbatch: fatal: --ntasks-per-node is mutually exclusive with --ntasks-per-gpu and "
            "SLURM_NTASKS_PER_GPU\n1");
  EXPECT_EQ(refusal_of(kBatch, {"--cpus-per-gpu=2"}),
            "0");  // as sbatch has it; a step of it would lack its GPUs
  EXPECT_TRUE(has_line(refusal_of(kRun, {"--cpus-per-gpu=2"}), kNoGres));
  EXPECT_EQ(refusal_of(kRun, {"--cpus-per-gpu=2", "--gpus=1"}), "0");
  EXPECT_EQ(refusal_of(kRun, {"--overlap", "--exclusive"}),
            "srun: error: --exclusive and --overlap are mutually exclusive\n44");
  EXPECT_EQ(refusal_of(kRun, {"--jobid=7", "--overlap", "--exclusive"}),
            "srun: error: --exclusive and --overlap are mutually exclusive\n44");
  EXPECT_EQ(refusal_of(kRun, {"--exclusive", "--whole"}),
            "srun: error: --exact and --whole are mutually exclusive.\n44");
  EXPECT_EQ(refusal_of(kRun, {"--exact", "--whole"}),
            "srun: error: --exact and --whole are mutually exclusive.\n44");
}

TEST(CompleteRequest, WhatNamesNothingIsRefusedAsByTheController) {
  const auto starts = [](Submitter by, const Words& words, std::string_view text) {
    const std::string told = refusal_of(by, words);
    EXPECT_TRUE(told.starts_with(text) && told.ends_with("\n44")) << told;
  };
  starts(Submitter::kRun, {"-w", ""},
         "srun: error: Unable to allocate resources: Node count specification invalid\n");
  EXPECT_EQ(refusal_of(Submitter::kRun, {"-N1", "-w", ""}), "0");
  EXPECT_EQ(refusal_of(Submitter::kBatch, {"--requeue=1"}), "0") << "as SBATCH_REQUEUE=1 has it";
  EXPECT_EQ(refusal_of(Submitter::kBatch, {"-N1", "--nodelist=", "--gpus="}), "0");
  starts(Submitter::kRun, {"--jobid=7", "-w", ""},
         "srun: error: Hostlist is empty!  Can not run job.\n");
  EXPECT_EQ(refusal_of(Submitter::kRun, {"--jobid=7", "-p", ""}), "0");
  starts(Submitter::kBatch, {"-p", ""},
         "sbatch: error: invalid partition specified: (null)\nsbatch: error: Batch job submission "
         "failed: Invalid partition name specified\n");
  starts(Submitter::kAllocate, {"-w", "a,b", "-x", "b"},
         "salloc: error: Job submit/allocate failed: Invalid node name specified\nsalloc: error: "
         "node b stands in --nodelist and in --exclude");
  starts(Submitter::kRun, {"--jobid=7", "-w", "a", "-x", "a"},
         "srun: error: Requested node a is also in the excluded list.\nsrun: error: Job not "
         "submitted.\n");
  starts(Submitter::kRun, {"--reservation=nosuch"},
         "srun: error: Unable to allocate resources: Requested reservation is invalid\nsrun: "
         "error: there is no reservation 'nosuch'");
  starts(Submitter::kBatch, {"-L", "nosuch"},
         "sbatch: error: Batch job submission failed: Invalid license specification\nsbatch: "
         "error: there is no license 'nosuch'");
  EXPECT_EQ(refusal_of(Submitter::kRun, {"-x", ""}), "0");
}

TEST(SubmitReader, UsageBeginsAsSlurms) {
  const auto usage = [](Submitter by) {
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(read(by, {"--usage"}).words.exit_code, 0);
    return ::testing::internal::GetCapturedStdout();
  };
  EXPECT_TRUE(usage(Submitter::kBatch)
                  .starts_with("Usage: sbatch [-N nnodes] [-n ntasks]\n              "
                               "[--account=value] [--array=value]"))
      << usage(Submitter::kBatch);
  EXPECT_TRUE(usage(Submitter::kRun)
                  .starts_with("Usage: srun [-N nnodes] [-n ntasks] [-i in] [-o out] [-e err]\n    "
                               "        [--account=value]"));
  EXPECT_TRUE(usage(Submitter::kAllocate)
                  .starts_with(
                      "Usage: salloc [-N numnodes|[min nodes]-[max nodes]] [-n num-processors]\n"));
}

TEST(SubmitReader, AListThatIsNoFileSaysWhy) {
  for (const char* option : {"--exclude=", "--nodelist="}) {
    const std::string folder = error_of({option + std::string("/tmp")});
    EXPECT_NE(folder.find("cannot read the node file /tmp"), std::string::npos) << folder;
    EXPECT_NE(folder.find("Is a directory"), std::string::npos) << folder;
    EXPECT_NE(error_of({option + std::string("/no/such/file")}).find("No such file"),
              std::string::npos);
  }
}

TEST(SubmitReader, StrongerSourceReplaces) {
  SubmitOptions options;
  options.context = test_context();
  const Console console("sbatch");
  SubmitReader reader(console, options);
  reader.read({"--mem=1G", "-n2", "-J", "script"}, OptionSource::kScript);
  ::setenv("SBATCH_JOB_NAME", "variable", 1);
  EXPECT_FALSE(reader.read_environment().has_value());
  ::unsetenv("SBATCH_JOB_NAME");
  EXPECT_EQ(options.job.name(), "variable");
  EXPECT_FALSE(reader.read({"--mem-per-cpu=2G", "-J", "line"}, OptionSource::kCommandLine)
                   .exit_code.has_value());
  EXPECT_EQ(options.job.request->memory_scope, MemoryScope::kPerCpu);
  EXPECT_EQ(options.job.name(), "line");
  EXPECT_EQ(options.job.request->task_count, 2U);
}

TEST(SubmitReader, GpusWrittenOnTheLineReplaceThoseOfTheEnclosingJob) {
  SubmitOptions options;
  options.by = Submitter::kRun;
  options.context = test_context();
  const Console console("srun");
  SubmitReader reader(console, options);
  ::setenv("SLURM_GPUS_PER_NODE", "2", 1);
  EXPECT_FALSE(reader.read_environment().has_value());
  ::unsetenv("SLURM_GPUS_PER_NODE");
  EXPECT_EQ(options.gpus_per_node.size(), 1U);
  EXPECT_FALSE(reader.read({"--gpus=1", "--gres=nic:1", "true"}, OptionSource::kCommandLine)
                   .exit_code.has_value());
  EXPECT_TRUE(options.gpus_per_node.empty());
  EXPECT_EQ(options.gpus.size(), 1U);
  EXPECT_EQ(options.gres.size(), 1U);
  EXPECT_EQ(options.job.given & given_option::kGpusPerNode, 0U);
}

TEST(CompleteRequest, TaskCountsFollow) {
  EXPECT_EQ(completed(Submitter::kBatch, {"-N3"}).job.request->task_count, 3U);
  EXPECT_EQ(completed(Submitter::kBatch, {"-N3"}).job.given & given_option::kTaskCount, 0U);
  const SubmitOptions per_node = completed(Submitter::kBatch, {"-N2", "--ntasks-per-node=4"});
  EXPECT_EQ(per_node.job.request->task_count, 8U);
  EXPECT_NE(per_node.job.given & given_option::kTaskCount, 0U);
  EXPECT_EQ(completed(Submitter::kBatch, {"-n8", "--ntasks-per-node=4"}).job.request->min_nodes,
            2U);
  EXPECT_EQ(completed(Submitter::kBatch, {"--gpus=8", "--gpus-per-task=2"}).job.request->task_count,
            4U);
  EXPECT_EQ(completed(Submitter::kBatch, {"-w", "n[1-3]"}).job.request->min_nodes, 3U);
}

TEST(CompleteRequest, TooManyNodesForTheTasks) {
  Read result = read(Submitter::kRun, {"-N4", "-n1", "true"});
  Words warnings;
  ASSERT_TRUE(complete_request(result.options, warnings).has_value());
  EXPECT_EQ(warnings, Words{"can't run 1 processes on 4 nodes, setting nnodes to 1"});
  EXPECT_EQ(result.options.job.request->min_nodes, 1U);
}

TEST(CompleteRequest, AListOfMoreNodesThanTasksIsCutDown) {
  struct Case {
    Words words;
    const char* nodes;
    std::uint32_t count;
    const char* warning;
  };
  const Case cases[] = {
      {{"-w", "n[1-2]", "-n1", "x"},
       "n1",
       1,
       "can't run 1 processes on 2 nodes, setting nnodes to 1"},
      {{"-w", "n3,n1", "-n1", "x"},
       "n1",
       1,
       "can't run 1 processes on 2 nodes, setting nnodes to 1"},
      {{"-w", "n[2-4],n1", "-n2", "x"},
       "n[1-2]",
       2,
       "can't run 2 processes on 4 nodes, setting nnodes to 2"},
      {{"-w", "n[1-3]", "-n2", "-N3", "x"},
       "n[1-2]",
       2,
       "can't run 2 processes on 3 nodes, setting nnodes to 2"},
      {{"-w", "n[1-2]", "-n1", "-N1-2", "x"},
       "n1",
       1,
       "can't run 1 processes on 2 nodes, setting nnodes to 1"},
      {{"-w", "n[1-2]", "-n3", "x"}, "n[1-2]", 2, ""},
      {{"-w", "n[1-2]", "x"}, "n[1-2]", 2, ""},
      {{"-w", "n[1-2]", "-N4", "x"}, "n[1-2]", 4, ""},
  };
  for (const Case& one : cases) {
    Read result = read(Submitter::kRun, one.words);
    Words warnings;
    ASSERT_TRUE(complete_request(result.options, warnings).has_value());
    EXPECT_EQ(result.options.job.get(JobText::kNodeList), one.nodes);
    EXPECT_EQ(result.options.job.request->min_nodes, one.count) << one.nodes;
    EXPECT_EQ(warnings, *one.warning == 0 ? Words{} : Words{one.warning}) << one.nodes;
  }
  Read narrow = read(Submitter::kRun, {"-w", "n[1-3]", "-N2", "x"});
  Words warnings;
  EXPECT_FALSE(complete_request(narrow.options, warnings).has_value());
}

// The places that -B names are as many tasks; what 22.05.8 says for each.
TEST(CompleteRequest, ExtraNodeInfoMeansATaskForEachPlace) {
  const std::pair<Words, std::uint32_t> cases[] = {
      {{"-B", "2:2:1"}, 4},
      {{"-B", "2"}, 2},
      {{"-B", "2:2"}, 4},
      {{"-B", "2:2:2"}, 8},
      {{"-B", "*:2:1"}, 2},
      {{"-B", "2:*:1"}, 2},
      {{"-B", "2:2:1", "-N2"}, 8},
      {{"-B", "2:2:1", "-n2"}, 2},
      {{"-B", "2:2:1", "-c2"}, 4},
      {{"-B", "2:4:2", "--ntasks-per-node=3"}, 3},
      {{"--sockets-per-node=2", "--cores-per-socket=2"}, 1},
  };
  for (const auto& [words, count] : cases)
    EXPECT_EQ(completed(Submitter::kBatch, words).job.request->task_count, count) << words[1];
  EXPECT_EQ(completed(Submitter::kBatch, {"-B", "2:2:1"}).job.request->threads_per_core, 1U);
}

TEST(CompleteRequest, TasksPerNodeOnARangeOfNodesNameNoTotal) {
  const SubmitOptions range = completed(Submitter::kBatch, {"-N2-4", "--ntasks-per-node=2"});
  EXPECT_EQ(range.job.request->task_count, 4U) << "what it needs at least";
  EXPECT_EQ(range.job.given & given_option::kTaskCount, 0U);
  EXPECT_TRUE(follows_nodes(range.job));
  EXPECT_FALSE(
      follows_nodes(completed(Submitter::kBatch, {"-N2-4", "--ntasks-per-node=2", "-n5"}).job));
  EXPECT_FALSE(follows_nodes(completed(Submitter::kBatch, {"-N2", "--ntasks-per-node=2"}).job));
  EXPECT_FALSE(follows_nodes(completed(Submitter::kBatch, {"-N2-4"}).job));
}

TEST(CompleteRequest, WhatATaskHasIsSaidOnceInWhicheverOrder) {
  constexpr Submitter kBatch = Submitter::kBatch;
  for (const Words& words :
       {Words{"-c1", "--tres-per-task=cpu=2"}, {"--tres-per-task=cpu:2", "-c1"}})
    EXPECT_NE(refusal_of(kBatch, words)
                  .find("--cpus-per-task is mutually exclusive with --tres-per-task=cpu\n"),
              std::string::npos)
        << refusal_of(kBatch, words);
  for (const Words& words : {Words{"-n1", "--gpus-per-task=1", "--tres-per-task=gres/gpu=2"},
                             {"-n1", "--tres-per-task=gres/gpu=2", "--gpus-per-task=1"}})
    EXPECT_NE(refusal_of(kBatch, words)
                  .find("--gpus-per-task is mutually exclusive with --tres-per-task=gres/gpu\n"),
              std::string::npos)
        << refusal_of(kBatch, words);
  EXPECT_EQ(refusal_of(kBatch, {"-c1", "-n1", "--tres-per-task=gres/gpu=2"}), "0");
}

TEST(CompleteRequest, MoreTasksThanTasksPerNodeAllowCountForMore) {
  Read result = read(Submitter::kRun, {"-N2", "-n4", "--ntasks-per-node=1", "true"});
  Words warnings;
  ASSERT_TRUE(complete_request(result.options, warnings).has_value());
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings.front().find("Ignoring --ntasks-per-node"), std::string::npos);
  EXPECT_EQ(result.options.job.request->tasks_per_node, 0U);
  EXPECT_EQ(completed(Submitter::kRun, {"-N2", "-n2", "--ntasks-per-node=1", "true"})
                .job.request->tasks_per_node,
            1U);
  EXPECT_EQ(completed(Submitter::kBatch, {"--gpus=4", "--gpus-per-task=1", "--ntasks-per-node=2"})
                .job.request->min_nodes,
            2U);
}

TEST(CompleteRequest, Gres) {
  const SubmitOptions options =
      completed(Submitter::kBatch, {"--gres=nic:1", "--gpus-per-node=h100:2"});
  EXPECT_EQ(options.job.get(JobText::kGresPerNode), "gpu:h100:2,nic:1");
  Read conflict = read(Submitter::kBatch, {"--gres=gpu:1", "--gpus-per-node=2"});
  Words warnings;
  EXPECT_EQ(complete_request(conflict.options, warnings).error().message,
            "--gpus-per-node and --gres=gpu are mutually exclusive.");
}

std::string srun_error_of(const Words& words) {
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(read(Submitter::kRun, words).words.exit_code.has_value());
  return ::testing::internal::GetCapturedStderr();
}

TEST(SubmitReader, BindingsThatAreNotHonouredAreRefusedByName) {
  EXPECT_EQ(srun_error_of({"--cpu-bind=ldoms", "a"}),
            "sbatch: error: --cpu-bind=ldoms is not supported by Muster yet\n");
  EXPECT_NE(srun_error_of({"--cpu-bind=bogus", "a"}).find("bogus"), std::string::npos);
  EXPECT_NE(srun_error_of({"--gpu-bind=bogus", "a"}).find("bogus"), std::string::npos);
  EXPECT_EQ(error_of({"--signal=R:USR1@30", "x"}),
            "sbatch: error: --signal=R:USR1@30 (at a reservation's start) is not supported by "
            "Muster yet\n");
  EXPECT_NE(error_of({"--propagate=BOGUS", "x"}).find("BOGUS"), std::string::npos);
}

TEST(SubmitReader, FlagsOfGresAndMemoryBindings) {
  for (const char* taken : {"--gres-flags=enforce-binding", "--gres-flags=disable-binding",
                            "--mem-bind=none", "--mem-bind=local", "--mem-bind=quiet,local"}) {
    EXPECT_FALSE(read(Submitter::kBatch, {taken, "x"}).words.exit_code.has_value()) << taken;
  }
  EXPECT_EQ(error_of({"--gres-flags=one-task-per-sharing", "x"}),
            "sbatch: error: --gres-flags=one-task-per-sharing is not supported by Muster yet\n");
  EXPECT_NE(
      error_of({"--gres-flags=bogus", "x"}).find("unrecognized --gres-flags argument \"bogus\""),
      std::string::npos);
  for (const std::string refused : {"rank", "map_mem:0,1", "mask_mem:0x3", "prefer", "sort"}) {
    EXPECT_EQ(error_of({"--mem-bind=" + refused, "x"}),
              "sbatch: error: --mem-bind=" + refused + " is not supported by Muster yet\n");
  }
}

SubmitOptions inherited(const std::vector<std::pair<const char*, const char*>>& variables) {
  SubmitOptions options;
  options.by = Submitter::kRun;
  options.context = test_context();
  const Console console("srun");
  for (const auto& [name, value] : variables) ::setenv(name, value, 1);
  EXPECT_FALSE(SubmitReader(console, options).read_environment().has_value());
  for (const auto& [name, value] : variables) ::unsetenv(name);
  return options;
}

TEST(SubmitReader, APlaneIsInheritedFromTwoVariables) {
  const SubmitOptions options =
      inherited({{"SLURM_DISTRIBUTION", "plane"}, {"SLURM_DIST_PLANESIZE", "3"}});
  EXPECT_EQ(options.step.get(StepText::kDistribution), "plane=3");
}

TEST(SubmitReader, CpusPerTaskAreStrongerThanTresPerTask) {
  const SubmitOptions options =
      inherited({{"SLURM_TRES_PER_TASK", "cpu=4,gres/gpu=1"}, {"SLURM_CPUS_PER_TASK", "1"}});
  EXPECT_EQ(options.job.request->cpus_per_task, 1U);
  EXPECT_EQ(options.gpus_per_task.size(), 1U);
}

TEST(SubmitReader, TheMasksOfTheStepAroundAreNotInherited) {
  const SubmitOptions own = inherited({{"SLURM_CPU_BIND", "quiet,mask_cpu:0x1"},
                                       {"SLURM_CPU_BIND_VERBOSE", "quiet"},
                                       {"SLURM_CPU_BIND_TYPE", "mask_cpu:"},
                                       {"SLURM_CPU_BIND_LIST", "0x1"}});
  EXPECT_EQ(own.step.get(StepText::kCpuBind), "");
  EXPECT_EQ(inherited({{"SLURM_CPU_BIND", "none"}}).step.get(StepText::kCpuBind), "none");
}

}  // namespace
}  // namespace muster::cli

// Prepares and starts the tasks of one node: files, pipes, environment, binding.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "env/posix/process_runner.h"
#include "slurm/rank_layout.h"
#include "stepd/step_program.h"

namespace muster {

/// A started task and our ends of its streams; -1 where a file stands instead.
struct StartedTask {
  pid_t pid = -1;
  std::uint32_t rank = 0;
  int input = -1;
  int output = -1;
  int error = -1;
  int output_file = -1;  ///< what comes from `output` is to be written there; -1: goes to srun
  int error_file = -1;
};

/// Tasks by local id, and the files that notices of ours go to.
struct StartedTasks {
  std::vector<StartedTask> tasks;
  int notice_fd = -1;  ///< the batch script's error stream
};

/// Starts all tasks or none. Errors name the file or program and the reason; code kUnavailable when
/// the fault is the node's. `is_captured`: also what goes to files passes through us.
/// `failed_with`: how a task ends that could not be started: with errno where its program could not
/// be executed, else with 1. A batch script's error stream gets the error as well.
Result<StartedTasks> start_tasks(const LaunchStep& launch, const StepdOptions& options,
                                 const RankLayout& layout, const std::string& enter_file,
                                 bool is_captured, ExitStatus& failed_with);

/// Real CPUs for the given CPU numbers: pretended ones map onto real ones modulo.
Bitmap real_cpus(const Bitmap& cpus);

}  // namespace muster

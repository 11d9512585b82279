// Prepares and starts the tasks of one node: files, pipes, environment, binding.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "env/posix/process_runner.h"
#include "slurm/rank_layout.h"
#include "stepd/step_program.h"

namespace muster {

/// A started task and our ends of its streams; -1 where the task has a file or nothing instead. The
/// caller closes them and reaps the process.
struct StartedTask {
  pid_t pid = -1;
  std::uint32_t rank = 0;
  int input = -1;
  int output = -1;
  int error = -1;
  int output_file = -1;  ///< what comes from `output` is to be written there; -1: goes to srun
  int error_file = -1;
};

/// The tasks of this node by local id.
struct StartedTasks {
  std::vector<StartedTask> tasks;
  int notice_fd = -1;  ///< the batch script's error file, for messages of the supervisor; -1: none
};

/// Starts the tasks of this node as their user, bound to their CPUs, in the order of their ranks.
/// When one cannot be started, those before it are killed; the caller reaps them.
///
/// `enter_file`: the file to which a task writes its pid before it runs, to enter its cgroup.
/// `is_captured`: also what goes to files passes through the supervisor. `failed_with`: the status
/// that a task which could not be started counts as: errno where its program could not be executed,
/// else 1. Requires: `launch`, `options` and `layout` agree on the node's rank. Errors name the
/// file or program and the reason; kUnavailable when the fault is the node's. A batch script's
/// error file gets the error, too.
Result<StartedTasks> start_tasks(const LaunchStep& launch, const StepdOptions& options,
                                 const RankLayout& layout, const std::string& enter_file,
                                 bool is_captured, ExitStatus& failed_with);

/// Returns CPUs that this process may run on, for the CPU numbers of a grant: number n becomes the
/// n-th of them, and numbers begin again beyond the last, because a node's configuration may have
/// more CPUs than the machine. Empty: the kernel does not say which there are.
Bitmap real_cpus(const Bitmap& cpus);

}  // namespace muster

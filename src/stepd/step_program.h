// Runs one node's part of one step with real processes: it starts the tasks, moves their streams,
// watches, reports.
#pragma once

#include <string>

#include "env/posix/cgroup.h"
#include "model/agent_message.h"
#include "stepd/task_binding.h"

namespace muster {

/// What the supervisor gets at its start, beside the launch itself.
struct StepdOptions {
  std::string spool;           ///< the node's: agent.sock and the exit log are there
  std::string exit_log;        ///< appended to when the step has ended
  TimePoint launch_time;       ///< when the agent asked for the step
  std::string conf_path;       ///< for SLURM_CONF
  std::string program_folder;  ///< where this program lies, and those that trials' scripts call
                               ///< with it; empty: not known
  std::string hosts_file;      ///< shown as /etc/hosts; empty: no
  CgroupHost cgroup;
  NodeShape shape;  ///< how the node's CPUs lie in cores and sockets
};

/// Runs the step to its end. Returns the exit status of the supervisor: 0.
int run_step(LaunchStep launch, const StepdOptions& options);

}  // namespace muster

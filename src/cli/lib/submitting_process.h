// What a job or an experiment inherits from the process that submits it.
#pragma once

#include <cstdint>
#include <string>

#include "cli/lib/console.h"
#include "model/request.h"
#include "slurm/environment_text.h"

namespace muster::cli {

/// The submitting process, as far as a job inherits from it.
struct SubmittingProcess {
  Words command_line = {};
  std::string work_dir = {};
  std::string host = {};
  std::string address = {};  ///< the host's, where tasks reach it
  std::uint32_t session = 0;
  std::uint32_t umask = 022;
  int nice = 0;             ///< the kernel's, of this process
  std::string limits = {};  ///< "NOFILE=1024,..."
  Environment environment = {};
  bool is_inside_job() const { return get_variable(environment, "SLURM_JOB_ID").has_value(); }
};
/// Describes this process; `command_line` with the command's own name.
SubmittingProcess submitting_process(Words command_line);

/// Returns the environment without SLURM_* (but those that configure commands) and the device lists
/// of the job that we are inside of.
Environment without_job_variables(Environment environment);

Bytes as_bytes(std::string text);

}  // namespace muster::cli

// The process that submits: what of it a job or an experiment keeps.
#pragma once

#include <cstdint>
#include <string>

#include "cli/lib/console.h"
#include "model/request.h"
#include "slurm/environment_text.h"

namespace muster::cli {

/// The submitting process, as far as a job keeps it.
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
/// Of this process; `command_line` with the command's own name.
SubmittingProcess submitting_process(Words command_line);

/// Without SLURM_* (but those that configure commands) and the device lists of the job that we are
/// inside of.
Environment without_job_variables(Environment environment);

Bytes as_bytes(std::string text);

}  // namespace muster::cli

// From options to what the controller is asked for: a job, a step, their environments. What the submitting process is
// (host, session, limits, mask) is gathered here too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/submit_options.h"
#include "codec/environment_text.h"
#include "model/request.h"

namespace muster::cli {

/// The submitting process, as far as a job keeps it.
struct SubmitScene {
  Words command_line = {};
  std::string work_dir = {};
  std::string host = {};
  std::string address = {};        ///< the host's, where tasks reach it
  std::uint32_t session = 0;
  std::uint32_t umask = 022;
  int nice = 0;                    ///< the kernel's, of this process
  std::string limits = {};         ///< "NOFILE=1024,..."
  Environment environment = {};
  bool is_inside_job() const { return get_variable(environment, "SLURM_JOB_ID").has_value(); }
};
/// Of this process; `command_line` with the command's own name.
SubmitScene submit_scene(Words command_line);

/// Works out what follows from several options together: node counts from -w, task counts from -N and GPUs, gres texts.
/// Errors: kInvalidArgument, fatal conflicts, in the words that sbatch(1) prints. `warnings` are for standard error.
Status settle(SubmitOptions& options, Words& warnings);
/// Options that exclude each other and that Slurm calls an error rather than fatal: SLURM_EXIT_ERROR counts. Errors:
/// kInvalidArgument, a message of one or more lines.
Status check_together(const SubmitOptions& options);
/// What no controller would accept, said as it would say it (refuse_job): nodes and partitions that are named as nothing,
/// nodes both wanted and excluded, reservations and licenses. Errors: kInvalidArgument.
Status check_acceptable(const SubmitOptions& options);

/// The same for a command: what was given is said with -v, warnings are said. The exit code after a conflict.
std::optional<int> settle_and_tell(const Console& console, SubmitOptions& options);

/// The job of settled options. The command's own texts (name, command, arguments) are the caller's.
JobSpec job_of(const SubmitOptions& options, const SubmitScene& scene);
/// A step that runs `command` inside a job, or as the only step of a job of its own. Requires: settled.
StepSpec step_of(const SubmitOptions& options, const SubmitScene& scene, const Words& command);

/// What the job's processes inherit: --export or --export-file applied; inside another job without that job's variables.
/// Errors: kNotFound for an export file that cannot be read.
Result<Environment> exported_environment(const SubmitOptions& options, const SubmitScene& scene);
/// Without SLURM_* (but those that configure commands) and the device lists of the job that we are inside of.
Environment without_job_variables(Environment environment);

/// Text for StepText::kCommand and JobText::kScriptArgs.
std::string joined_by_nul(const Words& words);
Bytes as_bytes(std::string text);

}  // namespace muster::cli

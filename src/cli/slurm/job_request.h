// Turns options into requests to the controller: a job, a step, their environments.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/lib/submitting_process.h"
#include "cli/slurm/submit_options.h"
#include "model/request.h"
#include "slurm/environment_text.h"

namespace muster::cli {

/// Works out what follows from several options together: node counts from -w, task counts from -N
/// and GPUs, gres texts. Errors: kInvalidArgument, fatal conflicts, in the words that sbatch(1)
/// prints. `warnings` are for standard error.
Status complete_request(SubmitOptions& options, Words& warnings);
/// Checks options that exclude each other and that Slurm calls an error rather than fatal:
/// SLURM_EXIT_ERROR counts. Errors: kInvalidArgument, a message of one or more lines.
Status check_together(const SubmitOptions& options);
/// Refuses what no controller would accept, in the controller's words (refuse_job): nodes and
/// partitions that are named as nothing, nodes both wanted and excluded, reservations and licenses.
/// Errors: kInvalidArgument.
Status check_acceptable(const SubmitOptions& options);

/// Completes the options for a command: with -v it prints what was given, and it prints warnings.
/// Returns the exit code after a conflict.
std::optional<int> complete_or_report(const Console& console, SubmitOptions& options);

/// Returns the job of options that were completed. The command's own texts (name, command,
/// arguments) are the caller's.
JobSpec job_of(const SubmitOptions& options, const SubmittingProcess& scene);
/// Returns a step that runs `command` inside a job, or as the only step of a job of its own.
/// Requires: completed.
StepSpec step_of(const SubmitOptions& options, const SubmittingProcess& scene,
                 const Words& command);

/// Sets what srun within the job goes by, of options that say how tasks run: SLURM_GPU_BIND,
/// SLURM_OVERCOMMIT, SLURM_HINT. Requires: completed.
void add_step_defaults(Environment& environment, const SubmitOptions& options);
/// Returns what the job's processes inherit: --export or --export-file applied; inside another job
/// without that job's variables. Errors: kNotFound for an export file that cannot be read.
Result<Environment> exported_environment(const SubmitOptions& options,
                                         const SubmittingProcess& scene);
/// Returns the words as a text for StepText::kCommand and JobText::kScriptArgs.
std::string joined_by_nul(const Words& words);

}  // namespace muster::cli

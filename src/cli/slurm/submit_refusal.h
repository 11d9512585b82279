// How sbatch, srun and salloc refuse: Slurm's own lines come first and alone, because scripts match
// them; the cause and the way out follow. The exit codes are here too. The caller decides what is
// refused. Source: Slurm 22.05.8, as tried.
#pragma once

#include <string_view>

#include "cli/slurm/submit_options.h"

namespace muster::cli {

/// The exit code after an option that nobody knows or that cannot be read, whatever
/// SLURM_EXIT_ERROR says.
inline constexpr int kExitBadOption = 255;

/// Prints that a job was not accepted: by the controller, or by the command in its place. Returns
/// the exit code: SLURM_EXIT_ERROR, else 1.
int refuse_job(const Console& console, Submitter by, const Error& error);
/// Does the same for sbatch --test-only, which has its own line and exit code.
int refuse_test(const Console& console, const Error& error);

/// An option's value as it was given. `origin`: "from NAME=VALUE" of the environment, or empty.
struct OptionValue {
  std::string_view name;
  std::string_view value;
  std::string_view origin = {};
};
/// Prints why a value cannot be accepted, and returns the exit code.
int refuse_value(const Console& console, Submitter by, const OptionValue& option,
                 const Error& error);

}  // namespace muster::cli

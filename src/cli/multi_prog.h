// --multi-prog files: a program for each task. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::cli {

/// A shell command that runs, by SLURM_PROCID, what the file names for each rank. Lines are "RANKS PROGRAM ARGUMENTS";
/// RANKS is a list ("0-3,5") or "*" for the rest; %t is the rank, %o its place in its line's list. The last line that
/// names a rank counts. Errors: kInvalidArgument with the line; a rank without a program. Source: srun(1) --multi-prog.
Result<std::string> multi_prog_command(std::string_view text, std::uint32_t task_count);

}  // namespace muster::cli

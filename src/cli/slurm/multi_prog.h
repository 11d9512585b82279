// Reads --multi-prog files, which name a program for each task. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::cli {

/// Returns a shell script that runs, by SLURM_PROCID, what the file names for each rank, with the
/// script's own arguments behind the file's. Lines are "RANKS PROGRAM ARGUMENTS", a backslash at
/// the end joins the next one to it; RANKS is a list ("0-3,5") or, on the last line, "*" for the
/// rest; %t is the rank, %o its position in its line's list as it is written, and for "*" the rank;
/// what single quotes enclose, and what a backslash precedes, stands for itself, and the shell
/// reads none of it. Errors: kInvalidArgument with the line; a rank without a program, or with two.
/// Source: srun(1), MULTIPLE PROGRAM CONFIGURATION.
Result<std::string> multi_prog_command(std::string_view text, std::uint32_t task_count);

/// Returns how many tasks the file is for, where nobody has said so: as many as its highest rank
/// needs. Errors: as above, but that a rank may be without a program; a rank that no step has.
Result<std::uint32_t> multi_prog_task_count(std::string_view text);

}  // namespace muster::cli

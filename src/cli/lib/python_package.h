// Runs commands that the Python package muster carries out.
#pragma once

#include <string>

#include "cli/lib/console.h"
#include "slurm/environment_text.h"

namespace muster::cli {

/// Runs `python3 -m MODULE WORDS` ($MUSTER_PYTHON instead of python3) with these variables; without
/// words, its help. Returns its exit code. Where the package is not there it says how to install
/// it.
int run_package(const Console& console, const std::string& module, const Words& words,
                const Environment& variables);

}  // namespace muster::cli

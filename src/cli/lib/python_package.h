// Commands that the Python package muster carries out.
#pragma once

#include <string>

#include "cli/lib/console.h"
#include "slurm/environment_text.h"

namespace muster::cli {

/// Runs `python3 -m MODULE WORDS` ($MUSTER_PYTHON instead of python3) with these variables; without
/// words, its help. The answer is its exit code. Says how to install the package where it is not
/// there.
int run_package(const Console& console, const std::string& module, const Words& words,
                const Environment& variables);

}  // namespace muster::cli

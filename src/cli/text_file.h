// Whole files, as commands read them.
#pragma once

#include <string>

#include "base/result.h"

namespace muster::cli {

/// All bytes of a file; of standard input for "-". Errors: kNotFound with the system's reason.
Result<std::string> read_file(const std::string& path);

}  // namespace muster::cli

// Reads whole files for commands.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::cli {

/// Returns all bytes of a file; of standard input for "-". Errors: kNotFound with the system's
/// reason; kInvalidArgument when it has more than `most` bytes. `what` stands before the path in
/// messages: "the node file ".
Result<std::string> read_file(const std::string& path, std::size_t most = std::size_t{64} << 20,
                              std::string_view what = "");

}  // namespace muster::cli

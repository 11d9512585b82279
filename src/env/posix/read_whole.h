// Reads all of a file, and tells one that is not there from one that cannot be read: what stands in
// for the first would replace the second.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace muster {

/// Returns the file's bytes. Nullopt: there is no file of that name. Errors: as disk_error
/// (write_whole.h), "cannot read PATH".
Result<std::optional<std::string>> read_whole(const std::string& path);

}  // namespace muster

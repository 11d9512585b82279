// Writes all of something, and says why the system refused. A write may do a part: what then
// refuses the rest is the cause, and not whatever errno held before.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

/// Writes all of `bytes`. Returns 0, or the errno of what refused the rest; a part may stand there
/// then. Requires: `fd` waits for room, or is a file.
int write_whole(int fd, std::string_view bytes);

/// Returns "`what`: the cause", of an errno. kResourceExhausted for a lack that may pass by itself:
/// room, quota, descriptors, memory; else kUnavailable.
Error disk_error(std::string what, int error);

}  // namespace muster

// Writing all of something, and why the system refused. A write may take a part: what then refuses
// the rest is the cause, and not whatever errno held before.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

/// All of `bytes`. Returns 0, or the errno of what refused the rest; a part may stand there then.
/// Requires: `fd` waits for room, or is a file.
int write_whole(int fd, std::string_view bytes);

/// "`what`: the cause", of an errno. kResourceExhausted for a lack that may pass by itself: room,
/// quota, descriptors, memory; else kUnavailable.
Error disk_error(std::string what, int error);

}  // namespace muster

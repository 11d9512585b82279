// How many files a process may have open (getrlimit(2), RLIMIT_NOFILE).
#pragma once

#include "base/result.h"

namespace muster {

/// What a daemon needs for its own files and a few connections.
inline constexpr unsigned kDaemonFilesMin = 256;
/// What a command needs for its connections and the streams of a step.
inline constexpr unsigned kCommandFilesMin = 32;

/// Errors: kFailedPrecondition, with the way out, when fewer than `least` may be open.
Status check_open_files(unsigned least);
/// Raises the limit to all that is allowed. Errors: as check_open_files.
Status raise_open_files(unsigned least);

}  // namespace muster

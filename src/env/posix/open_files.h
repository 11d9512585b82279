// Checks and raises how many files a process may have open (getrlimit(2), RLIMIT_NOFILE).
#pragma once

#include "base/result.h"

namespace muster {

/// How many a daemon needs for its own files and a few connections.
inline constexpr unsigned kDaemonFilesMin = 256;
/// How many a command needs for its connections and the streams of a step.
inline constexpr unsigned kCommandFilesMin = 32;

/// Checks the limit. Errors: kFailedPrecondition, with the way out, when fewer than `least` may be
/// open.
Status check_open_files(unsigned least);
/// Raises the limit to all that is allowed. Errors: as check_open_files.
Status raise_open_files(unsigned least);

}  // namespace muster

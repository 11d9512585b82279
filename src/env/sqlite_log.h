// Rewrites SQLite's write-ahead log after a sync that failed: what the kernel has in memory of it
// may never have reached the disk, and no later sync says so.
#pragma once

#include <string>

#include "base/result.h"

namespace muster {

/// Writes the log of a database anew, byte for byte, and syncs it: whatever is read from it from
/// now on is on stable storage. It is called before the database is opened to write, and does
/// nothing where there is no log. Requires: nobody else writes to it. Errors: kUnavailable. Cost:
/// the log's size. Source: Rebello et al., Can Applications Recover from fsync Failures?, USENIX
/// ATC 2020.
Status rewrite_log(const std::string& database);

}  // namespace muster

// Says which processes live: a process holds a key of a lock file for as long as it exists,
// whatever ends it. The kernel keeps the record, so that nothing is written, no pid is mistaken for
// another's, and a full disk changes nothing.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace muster {

/// Lets this process hold `key` of the file until it ends. Requires: it opens that file no second
/// time, and holds one key of it. Errors: kAlreadyExists when another process holds it;
/// kUnavailable.
Status hold_key(const std::string& path, std::uint64_t key);

/// Returns the process that holds `key`; 0: none.
pid_t holder_of_key(const std::string& path, std::uint64_t key);

}  // namespace muster

// Checks whether a host has room to start something: it is asked after there was none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace muster {

/// What must be free before steps are started again after a lack of it: scripts, records of ends
/// and what trials write first are a few MiB; a supervisor and its tasks' streams some dozens of
/// descriptors.
struct RoomToStart {
  std::int64_t bytes = 16 << 20;
  std::size_t descriptors = 64;
};

/// Allocates so much in `folder`'s file system, quotas included, and so many descriptors, and gives
/// all of it back. Errors: what is missing, kResourceExhausted as a rule (write_whole.h).
Status check_room(const std::string& folder, const RoomToStart& wanted);

}  // namespace muster

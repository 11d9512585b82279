// Finds out what this host has: hwloc tells processors and memory, the kernel identity and load.
#pragma once

#include "model/agent_message.h"
#include "model/node.h"

namespace muster {

/// Returns the registration without name and steps. With `pretend` not null, it says what that
/// node's configuration has.
RegisterNode measure_inventory(const NodeConfig* pretend);

/// Returns load and free memory now.
Heartbeat measure_host();

}  // namespace muster

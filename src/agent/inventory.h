// Finds out what this host has: processors and memory by hwloc, identity and load by the kernel.
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

// What this host has: processors and memory, found by hwloc; its identity and load, by the kernel.
#pragma once

#include "model/agent_message.h"
#include "model/node.h"

namespace muster {

/// The registration without name and steps. With `pretend` not null, what that node's configuration
/// says it has.
RegisterNode measure_inventory(const NodeConfig* pretend);

/// Load and free memory now.
Heartbeat measure_host();

}  // namespace muster

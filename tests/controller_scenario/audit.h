// What must hold in every scenario, whatever it expects: nothing is given twice, and what is stored
// leads to the state that there is.
#pragma once

#include <string>
#include <vector>

#include "tests/controller_scenario/world.h"

namespace muster::scenario {

/// CPUs, memory and devices of each node against what jobs hold of them. Cost: O(grants).
std::vector<std::string> audit_grants(const ClusterState& state);
/// The stored batches, encoded and decoded, lead to the same state; so does what the replica has
/// followed.
std::vector<std::string> audit_replay(const World& world);

}  // namespace muster::scenario

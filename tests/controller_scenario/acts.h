// What happens in a scenario beside the requests of its users: to processes, nodes, clients of
// allocations, trials, and to the controller itself.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tests/controller_scenario/statement.h"
#include "tests/controller_scenario/world.h"

namespace muster::scenario {

/// Does what the statement says. Errors: it cannot be understood, or names what is not there; what
/// the controller refuses is no error but its answer (World::answer).
Status act(World& world, const Statement& statement);

// One for each word; `options` without it.
Status act_exit(World& world, const Options& options);
Status act_client(World& world, const Options& options);
Status act_node(World& world, const Options& options);
Status act_trial(World& world, const Options& options);
Status act_crash(World& world, const Options& options);

}  // namespace muster::scenario

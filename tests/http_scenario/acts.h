// What happens in a scenario beside its requests: to trials, jobs, nodes, services and the clock.
#pragma once

#include "base/result.h"
#include "tests/http_scenario/text.h"
#include "tests/http_scenario/world.h"

namespace muster::http_scenario {

/// Does what the statement says. Errors: it cannot be understood, or names what is not there.
Status act(World& world, const Statement& statement, Variables& variables);

}  // namespace muster::http_scenario

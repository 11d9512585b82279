// What a scenario expects at an instant, compared with what users and nodes see then.
#pragma once

#include <string>
#include <vector>

#include "tests/controller_scenario/statement.h"
#include "tests/controller_scenario/world.h"

namespace muster::scenario {

/// What differs from the expectation `words` (without "expect"): one text for each difference;
/// what cannot be understood is one, too.
std::vector<std::string> check_expectation(World& world, const std::vector<std::string>& words);

}  // namespace muster::scenario

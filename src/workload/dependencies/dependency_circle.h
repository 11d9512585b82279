// Finds jobs that would wait for each other for ever.
#pragma once

#include <cstdint>
#include <optional>

#include "model/dependency.h"
#include "state/cluster_state.h"

namespace muster::requests {

/// True when `job`, once it had these dependencies and this spec, would wait for itself through
/// however many jobs. A singleton waits for all earlier unfinished jobs of its user and name, a
/// whole array for each of its elements. Cost: O(jobs waited for), and O(jobs in memory) for each
/// name of a singleton among them. `element`: only that element of the array record `job` is about
/// to split off and change.
bool closes_a_circle(const ClusterState& state, const Job& job,
                     std::optional<std::uint32_t> element, const DependencySet& dependencies,
                     const JobSpec& spec);

}  // namespace muster::requests

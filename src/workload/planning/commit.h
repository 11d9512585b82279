// Turns a planned start, which counts, into an allocation, which names CPUs and devices.
#pragma once

#include <optional>

#include "model/allocation.h"
#include "sched/plan/plan.h"
#include "state/cluster_state.h"

namespace muster {

/// Returns the lowest free CPUs (whole cores where cores are given out whole) and devices of each
/// node of the start. Nullopt: it no longer fits, because something happened since it was planned.
/// Determinism: the lowest numbers.
std::optional<AllocationRef> choose_resources(const ClusterState& state, const sched::Start& start,
                                              const sched::ClusterSnapshot& snapshot);

}  // namespace muster

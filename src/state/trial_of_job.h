// Which trial a job is a run of.
#pragma once

#include <cstdint>

#include "state/cluster_state.h"

namespace muster {

/// The trial whose run or place in the queue the job is; null: a job of its own, or one whose trial
/// has ended.
const Trial* trial_of(const ClusterState& state, const Job& job);

/// The hold bits that a trial's job has while it waits: its search or its user keeps it back.
std::uint16_t trial_hold(const ClusterState& state, const Trial& trial);

/// The same job on other slots.
JobSpec with_slots(const JobSpec& spec, std::uint32_t slots);

}  // namespace muster

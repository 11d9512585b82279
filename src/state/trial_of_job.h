// Finds the trial of a job. A trial has one job: each attempt of the job is a run of the trial, and
// the job waits in the queue in between.
#pragma once

#include <cstdint>

#include "state/cluster_state.h"

namespace muster {

/// Returns the trial of the job; null: it has none, or the trial is over or deleted. Lifetime: that
/// of the state's entry. Cost: O(log trials).
const Trial* trial_of(const ClusterState& state, const Job& job);

/// Returns the hold bits that the trial's job must have while it is pending: job_flag::kTrialHeld
/// while the search has no more work for the trial, the checkpoint it begins with is not known yet,
/// or its experiment is paused; else 0. Requires: the trial's experiment is in the state; checked.
std::uint16_t trial_hold(const ClusterState& state, const Trial& trial);

/// Returns a copy of the specification that asks for so many slots, which are tasks.
JobSpec with_slots(const JobSpec& spec, std::uint32_t slots);

}  // namespace muster

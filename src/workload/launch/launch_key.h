// Keys that tell a run, and a step of it, from those that had the same numbers in another copy of
// the state: when that copy is restored later, it gives the numbers again.
#pragma once

#include <cstdint>

#include "base/hash.h"
#include "state/cluster_state.h"

namespace muster {

/// Returns a key that differs from that of every run that another copy of this state has started,
/// or will.
inline std::uint64_t draw_run_key(const ClusterState& state, JobId job) {
  return Hasher()
      .add(state.epoch().value())
      .add(state.seq().value())
      .add(state.time().microseconds())
      .add(job.value())
      .digest();
}

/// Returns a key as draw_run_key does, for one step.
inline std::uint64_t draw_launch_key(const ClusterState& state, const StepId& step) {
  return Hasher().add(draw_run_key(state, step.job)).add(step.attempt).add(step.step).digest();
}

}  // namespace muster

// The cluster's time (engine/cluster_clock.h) as every thread of the controller reads it. The
// core's thread sets it.
#pragma once

#include "engine/cluster_clock.h"

namespace muster::daemon {

ClockReading read_clocks();
/// Returns the cluster's time. Time points that reach the state, or are compared with it, come from
/// here alone.
TimePoint cluster_now();
/// Makes the cluster's time from now on the steady clock's plus this.
void set_cluster_offset(Duration offset);

}  // namespace muster::daemon

// The cluster's time (engine/cluster_clock.h) as every thread of the controller reads it. The
// core's thread keeps it.
#pragma once

#include "engine/cluster_clock.h"

namespace muster::daemon {

ClockReading read_clocks();
/// Time points that reach the state, or are compared with it, come from here alone.
TimePoint cluster_now();
/// From now on the cluster's time is the steady clock's and this.
void set_cluster_offset(Duration offset);

}  // namespace muster::daemon

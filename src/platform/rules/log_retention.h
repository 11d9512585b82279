// Says whose logs have been kept for long enough. These are rules alone: nothing is deleted here.
#pragma once

#include <cstdint>
#include <vector>

#include "model/task_log.h"
#include "state/cluster_state.h"

namespace muster {

/// Returns the trials whose experiment ended at least as many days before `now` as their logs are
/// kept; with 0 days as soon as it has ended. By id. Cost: O(experiments), and the trials of those
/// that have ended.
std::vector<LogOwner> expired_logs(const ClusterState& state, TimePoint now);

/// Returns for how many whole days a trial's logs are still kept: all of them while its experiment
/// has not ended; -1: for ever.
std::int32_t remaining_log_days(const ClusterState& state, const Trial& trial, TimePoint now);

}  // namespace muster

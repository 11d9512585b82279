// Reports scripts and environments whose stored bytes are not those that were written.
#pragma once

#include <string>

#include "state/cluster_state.h"

namespace muster {

/// Returns, for `musterd --check`, which jobs in the state cannot begin for that.
std::string blob_finding(const ClusterState& state, BlobId blob);

}  // namespace muster

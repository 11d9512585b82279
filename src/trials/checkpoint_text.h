// Words for checkpoints.
#pragma once

#include <string_view>

#include "model/checkpoint.h"

namespace muster {

/// Returns Determined's name without STATE_: "COMPLETED".
std::string_view checkpoint_state_name(CheckpointState state);

}  // namespace muster

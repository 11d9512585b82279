// Words for checkpoints.
#pragma once

#include <string_view>

#include "model/checkpoint.h"

namespace muster {

/// As Determined has it, without STATE_: "COMPLETED".
std::string_view checkpoint_state_name(CheckpointState state);

}  // namespace muster

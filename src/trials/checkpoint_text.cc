// The names are those of Determined's checkpoint states without the prefix STATE_.

#include "trials/checkpoint_text.h"

namespace muster {

std::string_view checkpoint_state_name(CheckpointState state) {
  // Without a default label the compiler warns of a state that has no name.
  switch (state) {
    case CheckpointState::kActive: return "ACTIVE";
    case CheckpointState::kCompleted: return "COMPLETED";
    case CheckpointState::kError: return "ERROR";
    case CheckpointState::kDeleted: return "DELETED";
    case CheckpointState::kPartiallyDeleted: return "PARTIALLY_DELETED";
  }
  return "";
}

}  // namespace muster

// Slices go through the journal's thread between batches; a checkpoint that fails anywhere leaves
// the one before.
#include "engine/journal/checkpoint_role.h"

#include <string>
#include <utility>

namespace muster {

void CheckpointRole::write_if_due(const ClusterState& state,
                                  const std::function<void(ToJournal)>& send) {
  if (!schedule_.is_due(state.seq())) return;
  // Counted from the beginning, also where it fails: a disk that refuses is not tried at each
  // batch.
  schedule_.written(state.seq());
  send(BeginCheckpoint{});
  const Status written = write_checkpoint(state, [&](std::string record) {
    send(CheckpointSlice{std::move(record)});
    return Status();
  });
  if (written.has_value()) send(FinishCheckpoint{seal_of(state)});
}

}  // namespace muster

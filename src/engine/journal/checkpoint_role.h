// Writes checkpoints of a follower's state into the journal, while that follower stands still
// between batches.
#pragma once

#include <functional>

#include "engine/journal/checkpoint_schedule.h"
#include "engine/journal/journal_messages.h"
#include "engine/recovery.h"

namespace muster {

class CheckpointRole {
 public:
  CheckpointRole(const CheckpointSchedule::Bounds& bounds, const RecoveryReport& recovered)
      : schedule_(bounds, recovered.checkpoint, recovered.replayed_events) {}

  void applied(const EventBatch& batch) { schedule_.count(batch.events.size()); }
  /// Sends a checkpoint of the state when one is due; `send` may wait. Cost: O(state).
  void write_if_due(const ClusterState& state, const std::function<void(ToJournal)>& send);

 private:
  CheckpointSchedule schedule_;
};

}  // namespace muster

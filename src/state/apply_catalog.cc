// What happens to checkpoints and documents.
#include "base/check.h"
#include "state/event_applier.h"

namespace muster {

void EventApplier::operator()(const RunSignalled& event) {
  Job& job = job_at(event.job);
  CHECK(job.run != nullptr, "job {} speaks while it does not run", event.job.value());
  change(job, [&] {
    if (event.note == RunSignal::kSession) job.run->has_session = true;
    if (event.note == RunSignal::kStopAcknowledged) job.run->is_stop_acknowledged = true;
  });
}

void EventApplier::operator()(const CheckpointRecorded& event) {
  state.checkpoints_.put(event.checkpoint);
}

void EventApplier::operator()(const CollectionBegun& event) {
  state.checkpoints_.begin(event.collection);
}

void EventApplier::operator()(const CollectionEnded& event) {
  // Out of the table either way: what became of each checkpoint is recorded by events of its own
  // where the job failed.
  const Collection collection = state.checkpoints_.end(event.job);
  if (!event.is_done) return;
  for (const std::string& uuid : collection.uuids) {
    const CheckpointRef known = state.checkpoints_.find(uuid);
    CHECK(known != nullptr, "no checkpoint {}", uuid);
    Checkpoint deleted = *known;
    // A deleted one stays as a record of itself: people and registries may still name it.
    deleted.state = CheckpointState::kDeleted;
    deleted.size = 0;
    deleted.resources = "{}";
    state.checkpoints_.put(std::make_shared<const Checkpoint>(std::move(deleted)));
  }
}

void EventApplier::operator()(const DocumentStored& event) { state.catalog_.put(event.document); }

void EventApplier::operator()(const DocumentDeleted& event) {
  state.catalog_.remove(event.kind, event.id);
}

}  // namespace muster

// What happens to checkpoints and documents.
#include "base/check.h"
#include "state/event_applier.h"

namespace muster {

void EventApplier::operator()(const RunNoted& event) {
  Job& job = job_at(event.job);
  CHECK(job.run != nullptr, "job {} speaks while it does not run", event.job.value());
  change(job, [&] {
    if (event.note == RunNote::kSession) job.run->has_session = true;
    if (event.note == RunNote::kStopAcknowledged) job.run->is_stop_acknowledged = true;
  });
}

void EventApplier::operator()(const CheckpointNoted& event) { state.checkpoints_.put(event.checkpoint); }

void EventApplier::operator()(const DocumentStored& event) { state.catalog_.put(event.document); }

void EventApplier::operator()(const DocumentDeleted& event) { state.catalog_.remove(event.kind, event.id); }

}  // namespace muster

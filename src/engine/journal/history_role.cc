// Stored soon, synced seldom: what is stored without a sync may be lost with the machine, and is
// then projected again from the journal, which truncates only up to what was synced.
#include "engine/journal/history_role.h"

#include <utility>

namespace muster {

Status HistoryRole::store(std::vector<HistoryBatch> batches) {
  std::vector<HistoryObject> objects;
  const Seq known = store_.watermark();
  BatchMark until{known, {}, {}};
  for (HistoryBatch& batch : batches) {
    for (HistoryRecord& record : batch.records) objects.push_back(std::move(record.object));
    if (batch.batch.seq > until.seq) until = batch.batch;
  }
  // History may have these batches already, as after a start.
  if (until.seq <= known) return {};
  if (objects.empty() && until.seq.value() - known.value() <= kEmptyBatches) return {};
  return store_.append(objects, until);
}

// Idle, or a second has passed.
std::optional<Seq> HistoryRole::sync(bool is_idle, Duration steady) {
  if (!is_idle && steady - synced_at_ <= kSync) return std::nullopt;
  synced_at_ = steady;
  // A failed sync is not told of; the next call tries again.
  if (reported_ == store_.watermark() || !store_.make_durable().has_value()) return std::nullopt;
  reported_ = store_.watermark();
  return reported_;
}

}  // namespace muster

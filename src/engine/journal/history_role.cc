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
  if (until.seq <= known) return {};
  if (objects.empty() && until.seq.value() - known.value() <= kEmptyBatches) return {};
  return store_.append(objects, until);
}

std::optional<Seq> HistoryRole::sync(bool is_idle, Duration steady) {
  if (!is_idle && steady - synced_at_ <= kSync) return std::nullopt;
  synced_at_ = steady;
  if (told_ == store_.watermark() || !store_.make_durable().has_value()) return std::nullopt;
  told_ = store_.watermark();
  return told_;
}

}  // namespace muster

// The writer of history. What ended in durable batches is stored soon, in one transaction for all
// that has arrived, and synced when nothing else is to be done or a second has passed. Only what is
// synced may leave the journal and the core's memory.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "engine/durable_update.h"
#include "model/batch_mark.h"
#include "store/history/history_store.h"

namespace muster {

/// What ended in one batch.
struct HistoryBatch {
  std::vector<HistoryRecord> records;
  BatchMark batch;
};

class HistoryRole {
 public:
  /// How long the role writes without a sync while it is busy.
  static constexpr Duration kSync = Duration::seconds(1);
  /// How many batches without an end must arrive before they are worth a transaction of their own.
  static constexpr std::uint64_t kEmptyBatches = 1000;

  explicit HistoryRole(HistoryProjection& store) : store_(store) {}

  /// Stores what ended. Requires: batches come in their order. Errors: the store's; nothing of the
  /// call is there, and this run of the controller is over.
  Status store(std::vector<HistoryBatch> batches);
  /// Syncs when it is time to, or `is_idle`. Returns the batch up to which everything is on stable
  /// storage, where that has changed; a sync that is refused is tried again. `steady`: the
  /// machine's steady clock.
  std::optional<Seq> sync(bool is_idle, Duration steady);

 private:
  HistoryProjection& store_;
  Seq reported_;
  Duration synced_at_;
};

}  // namespace muster

// The controller's history in virtual time: written soon, synced later. A crash forgets what was
// not synced, as a disk does.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "engine/durable_update.h"
#include "sim/disk.h"

namespace muster::sim {

class History {
 public:
  /// `disk`: null for memory alone.
  explicit History(Disk* disk) : disk_(disk) {}

  /// What ended in the batches up to `until`. Errors: the disk refuses; nothing of it is there.
  Status append(const BatchMark& until, const std::vector<HistoryRecord>& records);
  /// All that was written is on stable storage. Errors: not yet.
  Status sync();
  void crash();
  /// What is on the disk is an older copy now.
  void was_put_back();
  /// The journal is an older copy, which ends at `last`, and history is not: it goes on from there.
  void rewind(Seq last) { written_until_ = synced_until_ = last; }
  /// What is on stable storage.
  Seq watermark() const { return synced_until_; }
  bool has(JobId job, std::uint32_t attempt) const;

 private:
  using Attempt = std::pair<JobId, std::uint32_t>;
  Disk* disk_;
  std::set<Attempt> synced_;
  std::vector<Attempt> written_;  ///< and not synced
  Seq written_until_;
  Seq synced_until_;
};

}  // namespace muster::sim

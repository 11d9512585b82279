// History as a store that is behind: written soon, synced later. A crash forgets what was not synced, as a disk does.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "controller/core.h"

namespace muster::sim {

class FakeHistory {
 public:
  /// What ended in the batches up to `until`.
  void append(Seq until, const std::vector<HistoryRecord>& records);
  /// All that was written is on stable storage.
  void sync();
  void crash();
  /// What is on stable storage.
  Seq watermark() const { return synced_until_; }
  bool has(JobId job, std::uint32_t attempt) const { return synced_.contains({job, attempt}); }

 private:
  using Attempt = std::pair<JobId, std::uint32_t>;
  std::set<Attempt> synced_;
  std::vector<Attempt> written_;  ///< and not synced
  Seq written_until_;
  Seq synced_until_;
};

}  // namespace muster::sim

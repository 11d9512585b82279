// The controller's history in virtual time: written soon, synced later. A crash forgets what was
// not synced, as a disk does.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "sim/disk.h"

namespace muster::sim {

class History final : public HistoryProjection {
 public:
  /// `disk`: null for memory alone.
  explicit History(Disk* disk) : disk_(disk) {}

  void crash();
  /// What is on the disk is an older copy now.
  void was_put_back();
  /// The journal is an older copy, which ends at `last`, and history is not: it goes on from there.
  void rewind(Seq last) { written_until_ = synced_until_ = last; }
  /// What is on stable storage.
  Seq synced() const { return synced_until_; }
  bool has(JobId job, std::uint32_t attempt) const;

  // ---- HistoryProjection ----
  Seq watermark() const override { return written_until_; }
  Result<HistoryMark> mark() override;
  Status acquire(Epoch epoch) override;
  Status append(const std::vector<HistoryObject>& objects, const BatchMark& until) override;
  Status make_durable() override;

 private:
  using Attempt = std::pair<JobId, std::uint32_t>;
  Disk* disk_;
  std::set<Attempt> synced_;
  std::vector<Attempt> written_;  ///< and not synced
  Seq written_until_;
  Seq synced_until_;
};

}  // namespace muster::sim

// Helpers for tests of the journal: a disk that fails (env/faulty_disk.h), and a journal in memory.
// Not for production code.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "env/faulty_disk.h"
#include "journal/journal.h"

namespace muster::testing {

/// Stores everything in memory, as decoded values.
class MemoryJournal final : public Journal {
 public:
  /// `has_part_beside`: some of its upkeep may be done on another thread, and does nothing.
  explicit MemoryJournal(bool has_part_beside = false) : has_part_beside_(has_part_beside) {}

  /// Refuses the next append with `why`, and does not store it.
  void refuse_next(Error why) { refusal_ = std::move(why); }
  /// Makes a blob's bytes differ from those that were written.
  void damage(BlobId id) { damaged_.insert(id); }
  std::size_t batch_count() const { return batches_.size(); }
  std::size_t tidy_count() const { return tidies_; }

  // ---- Journal ----
  Result<Epoch> acquire_leadership(Epoch beyond) override;
  Status append(const std::vector<EventBatchRef>& batches, const JournalClock& clock) override;
  Result<std::optional<JournalClock>> clock() override { return clock_; }
  Seq last() const override { return last_; }
  Status follow(Seq after, const std::function<Status(const EventBatch&)>& visit) override;
  Result<std::optional<BatchMark>> mark(Seq seq) override;
  Result<CheckpointSeal> read_checkpoint(const std::function<Status(records::Slice)>& visit,
                                         Seq newest) override;
  Result<std::string> read_blob(BlobId id) override;
  Result<std::vector<BlobId>> damaged_blobs() override;
  Status record_damaged(BlobId id) override;
  Result<std::vector<BlobId>> recorded_damaged() override;
  Status begin_checkpoint() override;
  Status add_slice(const std::string& record) override;
  Status finish_checkpoint(const CheckpointSeal& seal) override;
  Result<bool> truncate(Seq slowest, std::uint32_t rows_max) override;
  Status tidy() override;
  std::function<Status()> tidy_beside() override;

 private:
  struct Checkpoint {
    CheckpointSeal seal;
    std::vector<std::string> slices;
  };
  std::map<Seq, EventBatchRef> batches_;
  std::map<BlobId, Bytes> blobs_;
  std::set<BlobId> damaged_;
  std::set<BlobId> known_damage_;
  std::vector<Checkpoint> checkpoints_;      ///< rising
  std::optional<Checkpoint> being_written_;  ///< one without its end
  std::optional<JournalClock> clock_;
  std::optional<Error> refusal_;
  const bool has_part_beside_;
  std::size_t tidies_ = 0;
  Seq last_;
  Epoch epoch_;
};

}  // namespace muster::testing

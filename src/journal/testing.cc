#include "journal/testing.h"

#include <algorithm>

#include "base/check.h"

namespace muster::testing {

Result<Epoch> MemoryJournal::acquire_leadership(Epoch beyond) {
  return epoch_ = Epoch(std::max(epoch_.value(), beyond.value()) + 1);
}

Status MemoryJournal::append(const std::vector<EventBatchRef>& batches, const JournalClock& clock) {
  if (refusal_) return fail(*std::exchange(refusal_, std::nullopt));
  for (const EventBatchRef& batch : batches) {
    CHECK(batch->seq.value() == last_.value() + 1, "batch {} after {}", batch->seq.value(),
          last_.value());
    for (const BlobWrite& blob : batch->blobs) blobs_[blob.id] = blob.bytes;
    for (const BlobId id : batch->dead_blobs) blobs_.erase(id);
    batches_[batch->seq] = batch;
    last_ = batch->seq;
  }
  if (clock.boot != 0) clock_ = clock;
  return {};
}

Status MemoryJournal::follow(Seq after, const std::function<Status(const EventBatch&)>& visit) {
  for (auto next = batches_.upper_bound(after); next != batches_.end(); ++next)
    TRY(visit(*next->second));
  return {};
}

Result<std::optional<BatchMark>> MemoryJournal::mark(Seq seq) {
  const auto found = batches_.find(seq);
  if (found == batches_.end()) return std::optional<BatchMark>();
  return std::optional(mark_of(*found->second));
}

Result<CheckpointSeal> MemoryJournal::read_checkpoint(
    const std::function<Status(records::Slice)>& visit, Seq newest) {
  const Checkpoint* chosen = nullptr;
  for (const Checkpoint& one : checkpoints_) {
    if (one.seal.seq <= newest) chosen = &one;
  }
  const bool has_all = batches_.empty() || batches_.begin()->first == Seq(1);
  if (chosen == nullptr && !checkpoints_.empty() && !has_all) chosen = &checkpoints_.front();
  if (chosen == nullptr) return CheckpointSeal();
  for (const std::string& record : chosen->slices) {
    records::Slice slice = TRY(records::decode_slice(record));
    TRY(visit(std::move(slice)));
  }
  return chosen->seal;
}

Result<std::string> MemoryJournal::read_blob(BlobId id) {
  const auto found = blobs_.find(id);
  if (found == blobs_.end())
    return fail(ErrorCode::kNotFound, "no blob " + std::to_string(id.value()));
  if (damaged_.contains(id))
    return fail(ErrorCode::kCorruption, "blob " + std::to_string(id.value()) + " is damaged");
  return *found->second;
}

Result<std::vector<BlobId>> MemoryJournal::damaged_blobs() {
  return std::vector<BlobId>(damaged_.begin(), damaged_.end());
}

Status MemoryJournal::record_damaged(BlobId id) {
  known_damage_.insert(id);
  return {};
}

Result<std::vector<BlobId>> MemoryJournal::recorded_damaged() {
  return std::vector<BlobId>(known_damage_.begin(), known_damage_.end());
}

Status MemoryJournal::begin_checkpoint() {
  being_written_.emplace();
  return {};
}

Status MemoryJournal::add_slice(const std::string& record) {
  being_written_->slices.push_back(record);
  return {};
}

Status MemoryJournal::finish_checkpoint(const CheckpointSeal& seal) {
  being_written_->seal = seal;
  checkpoints_.push_back(std::move(*being_written_));
  being_written_.reset();
  return {};
}

Result<bool> MemoryJournal::truncate(Seq slowest, std::uint32_t rows_max) {
  Seq kept;
  for (const Checkpoint& one : checkpoints_) {
    if (one.seal.seq <= slowest) kept = one.seal.seq;
  }
  std::erase_if(checkpoints_, [&](const Checkpoint& one) { return one.seal.seq < kept; });
  std::uint32_t count = 0;
  while (!batches_.empty() && batches_.begin()->first <= kept) {
    if (count++ == rows_max) return false;
    batches_.erase(batches_.begin());
  }
  return true;
}

Status MemoryJournal::tidy() {
  ++tidies_;
  return {};
}

std::function<Status()> MemoryJournal::tidy_beside() {
  if (!has_part_beside_) return nullptr;
  return [] { return Status(); };
}

}  // namespace muster::testing

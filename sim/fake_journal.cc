#include "sim/fake_journal.h"

#include "records/batch_codec.h"

namespace muster::sim {

void FakeJournal::append(EventBatchRef batch) {
  waiting_.push_back(std::move(batch));
  if (!is_flushing_) flush();
}

/// Group commit: whatever has gathered while the last flush ran.
void FakeJournal::flush() {
  is_flushing_ = true;
  flushing_ = std::exchange(waiting_, {});
  Duration delay = Duration::microseconds(rng_.between(100, 3000));
  if (rng_.chance(options_.slow_disk)) delay = Duration::milliseconds(rng_.between(100, 8000));
  timeline_.after(delay, [this, generation = generation_] {
    if (generation != generation_) return;
    if (std::exchange(is_full_, false)) {
      flushing_.clear();
      waiting_.clear();
      listener_.on_refused();
      return;
    }
    for (const EventBatchRef& batch : flushing_) store(batch);
    flushing_.clear();
    is_flushing_ = false;
    if (!waiting_.empty()) flush();
    listener_.on_durable(last());
  });
}

void FakeJournal::store(const EventBatchRef& batch) {
  CHECK(batch->seq.value() == stored_.size() + 1, "batch {} after {}", batch->seq.value(), stored_.size());
  CHECK(batch->epoch == epoch_, "batch {} of epoch {} under {}", batch->seq.value(), batch->epoch.value(), epoch_.value());
  last_time_ = timeline_.now();
  for (const BlobWrite& blob : batch->blobs) blobs_[blob.id] = blob.bytes;
  for (const BlobId id : batch->dead_blobs) blobs_.erase(id);
  if (!options_.is_codec) {
    stored_.push_back(batch);
    return;
  }
  auto decoded = records::decode_batch(records::encode_batch(*batch));
  CHECK(decoded.has_value(), "batch {}: {}", batch->seq.value(), decoded.error().text());
  stored_.push_back(std::make_shared<const EventBatch>(std::move(decoded).value()));
}

void FakeJournal::crash() {
  std::vector<EventBatchRef> under_way = std::exchange(flushing_, {});
  for (EventBatchRef& batch : std::exchange(waiting_, {})) under_way.push_back(std::move(batch));
  const std::size_t kept = is_full_ ? 0 : rng_.below(under_way.size() + 1);
  for (std::size_t i = 0; i < kept; ++i) store(under_way[i]);
  is_flushing_ = is_full_ = false;
  ++generation_;
}

const FakeJournal::Checkpoint& FakeJournal::checkpoint(Seq history) const {
  std::size_t newest = checkpoints_.size() - 1;
  while (checkpoints_[newest].seq > history) --newest;
  return checkpoints_[newest];
}

void FakeJournal::replay(Seq after, const std::function<void(const EventBatch&)>& visit) const {
  for (std::size_t i = after.value(); i < stored_.size(); ++i) visit(*stored_[i]);
}

Bytes FakeJournal::read_blob(BlobId id) const {
  const auto found = blobs_.find(id);
  return found == blobs_.end() ? nullptr : found->second;
}

}  // namespace muster::sim

#include "sim/journal.h"

#include "records/batch_codec.h"

namespace muster::sim {
namespace {

/// The simulated machine never boots: its journal's clock is the time since the beginning.
constexpr std::uint64_t kBoot = 1;

EventBatchRef recoded(const EventBatch& batch) {
  auto decoded = records::decode_batch(records::encode_batch(batch));
  CHECK(decoded.has_value(), "batch {}: {}", batch.seq.value(), decoded.error().text());
  return std::make_shared<const EventBatch>(std::move(decoded).value());
}

}  // namespace

void Journal::append(EventBatchRef batch) {
  waiting_.push_back(std::move(batch));
  if (!is_flushing_) flush();
}

/// Group commit: whatever has gathered while the last flush ran.
void Journal::flush() {
  is_flushing_ = true;
  flushing_ = std::exchange(waiting_, {});
  Duration delay = Duration::microseconds(rng_.between(100, 3000));
  if (rng_.chance(options_.slow_disk)) delay = Duration::milliseconds(rng_.between(100, 8000));
  timeline_.after(delay, [this, generation = generation_] {
    if (generation != generation_) return;
    if (!store_all(flushing_).has_value()) {
      refused_ = std::exchange(flushing_, {});
      waiting_.clear();
      listener_.on_refused();
      return;
    }
    flushing_.clear();
    is_flushing_ = false;
    if (!waiting_.empty()) flush();
    listener_.on_durable(last());
  });
}

Status Journal::store_all(const std::vector<EventBatchRef>& batches) {
  const bool is_full = std::exchange(is_full_, false);
  if (disk_ != nullptr) {
    if (is_full) disk_->fill();
    JournalClock clock{kBoot, timeline_.now() - TimePoint(), {}};
    TRY(disk_->journal().append(batches, clock));
  } else if (is_full) {
    return fail(ErrorCode::kUnavailable, "the disk is full");
  }
  for (const EventBatchRef& batch : batches) store(batch);
  return {};
}

void Journal::store(const EventBatchRef& batch) {
  CHECK(batch->seq.value() == stored_.size() + 1, "batch {} after {}", batch->seq.value(),
        stored_.size());
  CHECK(batch->epoch == epoch_, "batch {} of epoch {} under {}", batch->seq.value(),
        batch->epoch.value(), epoch_.value());
  last_time_ = timeline_.now();
  if (disk_ == nullptr) {
    for (const BlobWrite& blob : batch->blobs) blobs_[blob.id] = blob.bytes;
    for (const BlobId id : batch->dead_blobs) blobs_.erase(id);
  }
  stored_.push_back(disk_ == nullptr ? batch : recoded(*batch));
}

void Journal::crash() {
  std::vector<EventBatchRef> under_way = std::exchange(refused_, {});
  const bool is_refused = !under_way.empty();
  for (EventBatchRef& batch : std::exchange(flushing_, {})) under_way.push_back(std::move(batch));
  for (EventBatchRef& batch : std::exchange(waiting_, {})) under_way.push_back(std::move(batch));
  std::size_t kept = is_refused || is_full_ ? 0 : rng_.below(under_way.size() + 1);
  if (disk_ != nullptr) {
    const std::vector<EventBatchRef> tried(under_way.begin(),
                                           under_way.begin() + static_cast<std::ptrdiff_t>(kept));
    // In the middle of this, or right behind it, the controller is gone.
    if (rng_.chance(0.5)) disk_->strike_soon();
    if (!tried.empty()) [[maybe_unused]]
      const Status ignored =
          disk_->journal().append(tried, {kBoot, timeline_.now() - TimePoint(), {}});
    disk_->restart();
    const std::uint64_t last = disk_->journal().last().value();
    CHECK(last >= stored_.size() && last <= stored_.size() + under_way.size(),
          "the journal ends at {}: {} were acknowledged and {} under way", last, stored_.size(),
          under_way.size());
    kept = last - stored_.size();
  }
  for (std::size_t i = 0; i < kept; ++i) store(under_way[i]);
  is_flushing_ = is_full_ = false;
  ++generation_;
}

Epoch Journal::take_lead(Epoch beyond) {
  if (disk_ == nullptr) return epoch_ = Epoch(std::max(epoch_.value(), beyond.value()) + 1);
  auto epoch = disk_->journal().take_lead(beyond);
  while (!epoch.has_value()) {  // as with_patience of apps/musterd/main.cc
    disk_->restart();
    epoch = disk_->journal().take_lead(beyond);
  }
  return epoch_ = *epoch;
}

void Journal::was_put_back(std::vector<EventBatchRef> stored) {
  const std::uint64_t last = disk_->journal().last().value();
  CHECK(last <= stored.size());
  stored_ = std::move(stored);
  stored_.resize(last);
}

TimePoint Journal::last_time() const {
  if (disk_ == nullptr) return last_time_;
  const auto clock = disk_->journal().clock();
  CHECK(clock.has_value(), "{}", clock.error().text());
  return *clock ? TimePoint() + (*clock)->steady : TimePoint::unset();
}

const Journal::Checkpoint& Journal::checkpoint(Seq history) const {
  std::size_t newest = checkpoints_.size() - 1;
  while (checkpoints_[newest].seq > history) --newest;
  return checkpoints_[newest];
}

void Journal::replay(Seq after, const std::function<void(const EventBatch&)>& visit) const {
  for (std::size_t i = after.value(); i < stored_.size(); ++i) visit(*stored_[i]);
}

Result<Bytes> Journal::read_blob(BlobId id) {
  if (rng_.chance(options_.blob_failure))
    return fail(ErrorCode::kUnavailable, "blob " + std::to_string(id.value()), "disk I/O error");
  if (disk_ != nullptr)
    return std::make_shared<const std::string>(TRY(disk_->journal().read_blob(id)));
  const auto found = blobs_.find(id);
  if (found == blobs_.end())
    return fail(ErrorCode::kNotFound, "no blob " + std::to_string(id.value()));
  return found->second;
}

}  // namespace muster::sim

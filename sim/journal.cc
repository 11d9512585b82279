#include "sim/journal.h"

#include "records/batch_codec.h"

namespace muster::sim {
namespace {

/// The simulated machine never boots: its journal's clock is the time since the beginning.
constexpr std::uint64_t kBoot = 1;
/// Little is written here: small bounds, so that everything is reached.
constexpr JournalRole::Bounds kBounds{.tidy_bytes = 200'000,
                                      .tidy_batches = 100,
                                      .truncated_rows = 50,
                                      .truncation_pause = Duration::milliseconds(50)};

EventBatchRef recoded(const EventBatch& batch) {
  auto decoded = records::decode_batch(records::encode_batch(batch));
  CHECK(decoded.has_value(), "batch {}: {}", batch.seq.value(), decoded.error().text());
  return std::make_shared<const EventBatch>(std::move(decoded).value());
}

}  // namespace

// ---- storage ----

Result<Epoch> JournalStorage::acquire_leadership(Epoch beyond) {
  auto epoch = base().acquire_leadership(beyond);
  while (!epoch.has_value()) {  // as wait_for_room of apps/musterd/main.cc
    disk_->restart();
    epoch = base().acquire_leadership(beyond);
  }
  return epoch_ = *epoch;
}

Status JournalStorage::append(const std::vector<EventBatchRef>& batches,
                              const JournalClock& clock) {
  const bool is_full = std::exchange(is_full_, false);
  if (is_full && disk_ == nullptr) return fail(ErrorCode::kUnavailable, "the disk is full");
  if (is_full) disk_->fill();
  TRY(base().append(batches, clock));
  for (const EventBatchRef& batch : batches) record(batch);
  return {};
}

void JournalStorage::record(const EventBatchRef& batch) {
  CHECK(batch->seq.value() == stored_.size() + 1, "batch {} after {}", batch->seq.value(),
        stored_.size());
  CHECK(batch->epoch == epoch_, "batch {} of epoch {} under {}", batch->seq.value(),
        batch->epoch.value(), epoch_.value());
  stored_.push_back(disk_ == nullptr ? batch : recoded(*batch));
}

Result<std::string> JournalStorage::read_blob(BlobId id) {
  if (rng_.chance(options_.blob_failure))
    return fail(ErrorCode::kUnavailable, "blob " + std::to_string(id.value()), "disk I/O error");
  return base().read_blob(id);
}

void JournalStorage::was_put_back(std::vector<EventBatchRef> stored) {
  const std::uint64_t last = disk_->journal().last().value();
  CHECK(last <= stored.size());
  stored_ = std::move(stored);
  stored_.resize(last);
}

// ---- the role's thread ----

void Journal::attach(Listener listener) {
  listener_ = std::move(listener);
  role_.emplace(storage_, reserve_, *this, kBoot, kBounds);
  role_->start();
  if (!is_in_turn_) begin_turn();
}

/// The role may be in the middle of a turn: it stays until the next controller has its own.
void Journal::detach() {
  listener_ = {[](Seq) {}, [] {}, [](BlobId, Result<std::string>) {},
               [](const std::optional<Error>&) {}};
}

void Journal::send(ToJournal message) {
  waiting_.push_back(std::move(message));
  if (!is_in_turn_) begin_turn();
}

/// Whatever has gathered while the last turn went on is taken up together.
void Journal::begin_turn() {
  is_in_turn_ = true;
  ++turns_;
  std::vector<ToJournal> messages = std::exchange(waiting_, {});
  for (const ToJournal& message : messages) {
    if (const auto* batch = std::get_if<EventBatchRef>(&message)) under_way_.push_back(*batch);
  }
  Duration delay = Duration::microseconds(rng_.between(100, 3000));
  if (rng_.chance(options_.slow_disk)) delay = Duration::milliseconds(rng_.between(100, 8000));
  timeline_.after(delay, [this, messages = std::move(messages), generation = generation_] {
    if (generation == generation_) end_turn(messages);
  });
}

void Journal::end_turn(std::vector<ToJournal> messages) {
  const std::uint64_t generation = generation_;
  role_->turn(std::move(messages), steady());
  if (generation != generation_) return;  // it was the last of this run
  under_way_.clear();
  if (disk_ != nullptr && disk_->is_gone()) return listener_.on_over();
  is_in_turn_ = false;
  if (!waiting_.empty() || role_->timeout() == Duration()) return begin_turn();
  timeline_.after(role_->timeout(), [this, generation, turns = turns_] {
    if (generation == generation_ && turns == turns_) begin_turn();
  });
}

void Journal::on_failure(const Error&) {
  refused_ = std::exchange(under_way_, {});
  listener_.on_over();
}

void Journal::fill() {
  storage_.fill();
  file_.fill_until(timeline_.now() + Duration::milliseconds(rng_.between(0, 20'000)));
}

void Journal::crash() {
  std::vector<EventBatchRef> tried = std::exchange(refused_, {});
  const bool is_refused = !tried.empty();
  for (EventBatchRef& batch : std::exchange(under_way_, {})) tried.push_back(std::move(batch));
  for (ToJournal& message : std::exchange(waiting_, {})) {
    if (auto* batch = std::get_if<EventBatchRef>(&message)) tried.push_back(std::move(*batch));
  }
  std::size_t kept = is_refused || storage_.is_about_to_refuse() ? 0 : rng_.below(tried.size() + 1);
  const std::vector<EventBatchRef> written(tried.begin(),
                                           tried.begin() + static_cast<std::ptrdiff_t>(kept));
  if (disk_ != nullptr) {
    // In the middle of this, or right behind it, the controller is gone.
    if (rng_.chance(0.5)) disk_->strike_soon();
    if (!written.empty()) [[maybe_unused]]
      const Status ignored = disk_->journal().append(written, {kBoot, steady(), {}});
    disk_->restart();
    const std::uint64_t last = disk_->journal().last().value();
    CHECK(last >= this->last().value() && last <= this->last().value() + tried.size(),
          "the journal ends at {}: {} were acknowledged and {} under way", last,
          this->last().value(), tried.size());
    kept = last - this->last().value();
    for (std::size_t i = 0; i < kept; ++i) storage_.found(tried[i]);
  } else if (!written.empty()) {
    storage_.empty();
    CHECK(storage_.append(written, {kBoot, steady(), {}}).has_value());
  }
  storage_.empty();
  is_in_turn_ = false;
  ++generation_;
}

TimePoint Journal::last_time() {
  const auto clock = storage_.clock();
  CHECK(clock.has_value(), "{}", clock.error().text());
  return *clock ? TimePoint() + (*clock)->steady : TimePoint::unset();
}

void Journal::replay(Seq after, const std::function<void(const EventBatch&)>& visit) const {
  const auto& stored = storage_.stored();
  for (std::size_t i = after.value(); i < stored.size(); ++i) visit(*stored[i]);
}

}  // namespace muster::sim

// One thread writes the journal; this class orders its work: batches, then blobs that launches wait
// for, then one of everything else, and upkeep while nothing comes in.
#include "engine/journal/journal_role.h"

#include <utility>

namespace muster {
namespace {

/// What an event takes in the journal, roughly.
constexpr std::size_t kBytesPerEvent = 200;
/// Between two looks at the reserve, and two pieces of a truncation, while nothing comes in.
constexpr Duration kIdleTimeout = Duration::seconds(1);
constexpr Duration kTruncationTimeout = Duration::milliseconds(20);

Error disk_full() {
  return Error{
      ErrorCode::kResourceExhausted, "Unable to write to the controller's disk",
      "the disk under StateSaveLocation is full: no new work is taken until there is room again"};
}

std::size_t bytes_of(const std::vector<EventBatchRef>& batches) {
  std::size_t bytes = 0;
  for (const EventBatchRef& batch : batches) {
    for (const BlobWrite& blob : batch->blobs) bytes += blob.size;
    bytes += batch->events.size() * kBytesPerEvent;
  }
  return bytes;
}

}  // namespace

JournalRole::JournalRole(Journal& journal, DiskReserve& reserve, JournalRolePort& port,
                         std::uint64_t boot, const Bounds& bounds)
    : journal_(journal),
      reserve_(reserve),
      port_(port),
      boot_(boot),
      can_tidy_beside_(journal.tidy_beside() != nullptr),
      bounds_(bounds) {}

Duration JournalRole::timeout() const {
  if (!waiting_.empty()) return Duration();
  return has_truncation_ ? kTruncationTimeout : kIdleTimeout;
}

void JournalRole::turn(std::vector<ToJournal> messages, Duration steady) {
  const bool is_idle = messages.empty() && waiting_.empty();
  std::vector<EventBatchRef> batches;
  for (ToJournal& message : messages) {
    if (auto* batch = std::get_if<EventBatchRef>(&message)) batches.push_back(std::move(*batch));
  }
  if (!batches.empty()) append(batches, steady);
  for (ToJournal& message : messages) {
    if (const auto* asked = std::get_if<FetchBlob>(&message)) {
      fetch(*asked);
    } else if (!std::holds_alternative<EventBatchRef>(message)) {
      // One of these a turn; batches that come meanwhile go first.
      waiting_.push_back(std::move(message));
    }
  }
  if (!waiting_.empty()) {
    // Each may be a sync of its own, and replies wait for the batches that come meanwhile.
    const ToJournal message = std::move(waiting_.front());
    waiting_.pop_front();
    std::visit([this](const auto& body) { receive(body); }, message);
  }
  if (is_idle) idle(steady);
  const bool is_truncation_due = steady - truncated_at_ > bounds_.truncation_pause;
  // While messages come in without end there must be truncation, too; while none do, idle() does
  // it.
  if (!messages.empty() && has_truncation_ && is_truncation_due) truncate(steady);
}

void JournalRole::append(const std::vector<EventBatchRef>& batches, Duration steady) {
  // A failed append leaves no gap: nothing after it may be stored.
  if (is_over_) return;
  JournalClock clock{boot_, steady, {}};
  for (const EventBatchRef& batch : batches) {
    if (!batch->events.empty()) clock.event_time = batch->events.back().time;
  }
  const Status stored = journal_.append(batches, clock);
  if (!stored.has_value()) {
    // The room of the reserve is for what the next run must write.
    is_over_ = true;
    reserve_.give_up();
    return port_.on_failure(stored.error());
  }
  // Before any upkeep: replies wait for this.
  port_.on_durable(batches.back()->seq);
  untidy_batches_ += batches.size();
  tidy_when_much(bytes_of(batches));
}

void JournalRole::fetch(const FetchBlob& asked) {
  auto bytes = journal_.read_blob(asked.id);
  // Another error may pass; damage stays.
  if (!bytes.has_value() && bytes.error().code == ErrorCode::kCorruption) {
    [[maybe_unused]] const Status ignored =
        journal_.record_damaged(asked.id);  // else the next run finds out again
  }
  port_.on_blob(asked, std::move(bytes));
}

void JournalRole::receive(const BeginCheckpoint&) {
  is_checkpoint_whole_ = journal_.begin_checkpoint().has_value();
}

void JournalRole::receive(const CheckpointSlice& slice) {
  is_checkpoint_whole_ = is_checkpoint_whole_ && journal_.add_slice(slice.record).has_value();
  tidy_when_much(slice.record.size());
  // The credit for another slice goes back, whether this one was stored or not.
  port_.on_slice();
}

/// Of a checkpoint that is not whole the one before stays.
void JournalRole::receive(const FinishCheckpoint& end) {
  if (!is_checkpoint_whole_ || !journal_.finish_checkpoint(end.seal).has_value()) return;
  has_truncation_ = true;
}

void JournalRole::receive(const HistoryStored& stored) {
  history_ = stored.seq;
  has_truncation_ = true;
}

void JournalRole::receive(const TidiedBeside&) {
  is_tidied_beside_ = false;
  tidy();
}

void JournalRole::idle(Duration steady) {
  if (untidy_batches_ > 0) tidy();
  if (has_truncation_) truncate(steady);
  look_after_reserve();
}

void JournalRole::tidy() {
  untidy_bytes_ = untidy_batches_ = 0;
  [[maybe_unused]] const Status ignored = journal_.tidy();  // only room depends on it
}

/// Most of it is done beside us: replies wait only while the rest is.
void JournalRole::tidy_when_much(std::size_t bytes) {
  untidy_bytes_ += bytes;
  if (untidy_bytes_ <= bounds_.tidy_bytes && untidy_batches_ <= bounds_.tidy_batches) return;
  if (!can_tidy_beside_) return tidy();
  if (!std::exchange(is_tidied_beside_, true)) port_.tidy_beside();
}

void JournalRole::truncate(Duration steady) {
  // Deleted rows are written to the log as well.
  tidy_when_much(bounds_.truncated_rows * kBytesPerEvent);
  const auto done = journal_.truncate(history_, bounds_.truncated_rows);
  has_truncation_ = done.has_value() && !*done;
  truncated_at_ = steady;
}

/// Without the reserve no new work is taken: what room there is belongs to the ends of jobs.
void JournalRole::look_after_reserve() {
  const bool has_reserve = reserve_.ensure();
  if (std::exchange(has_reserve_, has_reserve) == has_reserve) return;
  port_.on_room(has_reserve ? std::nullopt : std::optional(disk_full()));
}

}  // namespace muster

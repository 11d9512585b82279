#include "sim/history.h"

namespace muster::sim {

Result<HistoryMark> History::mark() {
  if (disk_ != nullptr) return disk_->history().mark();
  return HistoryMark{{synced_until_, {}, {}}, {}, {}};
}

Status History::acquire(Epoch epoch) {
  return disk_ != nullptr ? disk_->history().acquire(epoch) : Status();
}

Status History::append(const std::vector<HistoryObject>& objects, const BatchMark& until) {
  CHECK(until.seq >= written_until_, "history is sent batch {} after {}", until.seq.value(),
        written_until_.value());
  if (disk_ != nullptr) TRY(disk_->history().append(objects, until));
  written_until_ = until.seq;
  for (const HistoryObject& object : objects) {
    if (const auto* job = std::get_if<JobView>(&object))
      written_.emplace_back(job->id, job->attempt);
  }
  return {};
}

Status History::make_durable() {
  if (disk_ != nullptr) TRY(disk_->history().make_durable());
  synced_.insert(written_.begin(), written_.end());
  written_.clear();
  synced_until_ = written_until_;
  return {};
}

/// The disk's part is the journal's matter: both are on one. It may have kept what was not synced.
void History::crash() {
  if (disk_ == nullptr) {
    written_.clear();
    written_until_ = synced_until_;
    return;
  }
  const Seq found = disk_->history().watermark();
  CHECK(found >= synced_until_, "history was synced up to batch {} and ends at {}",
        synced_until_.value(), found.value());
  written_until_ = synced_until_ = found;
}

void History::was_put_back() {
  synced_.clear();
  written_.clear();
  written_until_ = synced_until_ = disk_->history().watermark();
}

bool History::has(JobId job, std::uint32_t attempt) const {
  if (disk_ == nullptr) return synced_.contains({job, attempt});
  const auto found = disk_->history().has(job, attempt);
  CHECK(found.has_value(), "{}", found.error().text());
  return *found;
}

}  // namespace muster::sim

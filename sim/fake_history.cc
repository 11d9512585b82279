#include "sim/fake_history.h"

namespace muster::sim {

void FakeHistory::append(Seq until, const std::vector<HistoryRecord>& records) {
  CHECK(until >= written_until_, "history is told of batch {} after {}", until.value(), written_until_.value());
  written_until_ = until;
  for (const HistoryRecord& record : records) {
    if (const auto* job = std::get_if<JobView>(&record.object)) written_.emplace_back(job->id, job->attempt);
  }
}

void FakeHistory::sync() {
  synced_.insert(written_.begin(), written_.end());
  written_.clear();
  synced_until_ = written_until_;
}

void FakeHistory::crash() {
  written_.clear();
  written_until_ = synced_until_;
}

}  // namespace muster::sim

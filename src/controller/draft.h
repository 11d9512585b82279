// What one batch of requests will do, put together before any of it is applied: either all of it happens or none.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/command.h"
#include "model/event.h"
#include "state/cluster_state.h"

namespace muster {

class Draft {
 public:
  /// `now`: when the requests are answered; unset: as far as the state has come.
  explicit Draft(const ClusterState& state, TimePoint now = {})
      : state_(state), now_(std::max(now, state.time())), next_job_(state.next_job()), next_blob_(state.next_blob()),
        next_experiment_(state.next_experiment()), next_trial_(state.next_trial()) {}

  const ClusterState& state() const { return state_; }
  TimePoint now() const { return now_; }
  /// The next free job id; each call gives another one.
  JobId allot_job() {
    const JobId id = next_job_;
    next_job_ = JobId(id.value() + 1);
    return id;
  }
  /// `wish`: the number that it should have if neither it nor one beyond it was given; 0: the next one.
  ExperimentId allot_experiment(ExperimentId wish = {}) { return allot(next_experiment_, wish); }
  TrialId allot_trial(TrialId wish = {}) { return allot(next_trial_, wish); }
  /// The first of `count` ids in a row.
  TrialId allot_trials(std::size_t count) {
    const TrialId id = next_trial_;
    next_trial_ = TrialId(id.value() + static_cast<std::uint32_t>(count));
    return id;
  }
  std::uint32_t allot_document(DocumentKind kind) {
    const auto [entry, is_new] = next_documents_.try_emplace(kind, state_.catalog().next(kind));
    return entry->second++;
  }
  /// The id under which these bytes are stored: known ones are shared. Zero for none.
  BlobId blob_for(const PreparedBlob& blob) {
    if (blob.bytes == nullptr) return BlobId(0);
    if (const BlobId known = state_.blobs().find(blob.digest); known.value() != 0) return known;
    const auto [entry, is_new] = new_blobs_.emplace(blob.digest, next_blob_);
    if (is_new) {
      next_blob_ = BlobId(next_blob_.value() + 1);
      blobs.push_back(BlobWrite{entry->second, blob.digest, blob.bytes->size(), blob.bytes});
    }
    return entry->second;
  }
  void add(EventBody body) { events.push_back(std::move(body)); }

  /// True for the first request of the batch that changes what becomes of the job; a second one would be drafted against
  /// a state that no longer holds when it is applied.
  bool claim(JobId job) { return claimed_.insert(job).second; }
  bool is_claimed(JobId job) const { return claimed_.contains(job); }

  /// The elements of an array that neither the state nor this draft has split off. Requires: `array` is a record.
  Bitmap remaining(const Job& array) const {
    Bitmap indices = array.array->remaining.indices;
    for (const auto& [index, element] : splits(array.id)) indices.reset(index);
    return indices;
  }
  /// The elements that this draft splits off, by index.
  const std::map<std::uint32_t, JobId>& splits(JobId array) const {
    static const std::map<std::uint32_t, JobId> kNone;
    const auto found = splits_.find(array);
    return found == splits_.end() ? kNone : found->second;
  }
  /// Requires: `index` is among remaining(array) and not the last of them.
  JobId split(JobId array, std::uint32_t index) {
    const JobId element = allot_job();
    splits_[array][index] = element;
    add(ArraySplit{array, index, element});
    return element;
  }

  /// Of an element that this draft splits off; nullopt: it does not.
  std::optional<std::uint32_t> index_of(JobId element) const {
    for (const auto& [array, elements] : splits_) {
      for (const auto& [index, id] : elements) {
        if (id == element) return index;
      }
    }
    return std::nullopt;
  }

  std::vector<EventBody> events;
  std::vector<BlobWrite> blobs;

 private:
  /// Numbers are few enough to be used up by wishes: none far beyond what people use is granted.
  static constexpr std::uint32_t kWishMax = 100'000'000;
  template <class Id>
  static Id allot(Id& next, Id wish) {
    const Id id = wish > next && wish.value() <= kWishMax ? wish : next;
    next = Id(id.value() + 1);
    return id;
  }

  const ClusterState& state_;
  TimePoint now_;
  JobId next_job_;
  BlobId next_blob_;
  ExperimentId next_experiment_;
  TrialId next_trial_;
  std::map<DocumentKind, std::uint32_t> next_documents_;
  std::map<std::string, BlobId> new_blobs_;
  std::set<JobId> claimed_;
  std::map<JobId, std::map<std::uint32_t, JobId>> splits_;
};

}  // namespace muster

// What one batch of requests will do, put together before any of it is applied: either all of it
// happens or none.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/command.h"
#include "model/event.h"
#include "state/cluster_state.h"

namespace muster {

/// A signal to a step, sent once the draft that asks for it is durable.
struct SignalOrder {
  StepId step;
  std::uint16_t signal = 0;
  bool batch_only = false;
};

/// Returns the answer to a request that is not done.
Reply refused(Error error);

class Draft {
 public:
  /// Begins with no events. `now`: when the requests are answered; unset: as far as the state has
  /// come.
  explicit Draft(const ClusterState& state, TimePoint now = {});
  ~Draft();

  const ClusterState& state() const { return state_; }
  TimePoint now() const { return now_; }
  /// Returns the next free job id; each call gives another one.
  JobId allot_job() {
    const JobId id = next_job_;
    next_job_ = JobId(id.value() + 1);
    return id;
  }
  /// Returns the next free experiment id. `wish`: the number that it should have if neither it nor
  /// one beyond it was given; 0: the next one.
  ExperimentId allot_experiment(ExperimentId wish = {}) { return allot(next_experiment_, wish); }
  TrialId allot_trial(TrialId wish = {}) { return allot(next_trial_, wish); }
  /// Returns the first of `count` ids in a row.
  TrialId allot_trials(std::size_t count) {
    const TrialId id = next_trial_;
    next_trial_ = TrialId(id.value() + static_cast<std::uint32_t>(count));
    return id;
  }
  std::uint32_t allot_document(DocumentKind kind);
  /// Returns the id under which these bytes are stored: known ones are shared. Zero for none.
  BlobId blob_for(const PreparedBlob& blob);
  void add(EventBody body);

  /// True for the first request of the batch that changes what becomes of the job; a second one
  /// would be drafted against a state that no longer holds when it is applied.
  bool claim(JobId job);
  bool is_claimed(JobId job) const;

  /// Returns the elements of an array that neither the state nor this draft has split off.
  /// Requires: `array` is a record.
  Bitmap remaining(const Job& array) const;
  /// Returns the elements that this draft splits off, by index.
  const std::map<std::uint32_t, JobId>& splits(JobId array) const;
  /// Splits an element off and returns its id. Requires: `index` is among remaining(array) and not
  /// the last of them.
  JobId split(JobId array, std::uint32_t index);

  /// Returns the index of an element that this draft splits off; nullopt: it does not.
  std::optional<std::uint32_t> index_of(JobId element) const;

  std::vector<EventBody> events;
  std::vector<BlobWrite> blobs;
  std::vector<SignalOrder> signals;

 private:
  /// The largest number that may be wished for. Ids are few enough to be used up by wishes: none
  /// far beyond what people use is granted.
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

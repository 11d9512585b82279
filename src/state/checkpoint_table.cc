// Two indexes over shared, immutable records: by uuid, and by trial in the order in which they
// became whole.
#include "state/checkpoint_table.h"

#include <algorithm>

#include "base/check.h"
#include "state/state_hash.h"

namespace muster {

CheckpointRef CheckpointTable::find(const std::string& uuid) const {
  const auto found = by_uuid_.find(uuid);
  return found == by_uuid_.end() ? nullptr : found->second;
}

const std::vector<CheckpointRef>& CheckpointTable::of(TrialId trial) const {
  static const std::vector<CheckpointRef> kNone;
  const auto found = by_trial_.find(trial);
  return found == by_trial_.end() ? kNone : found->second;
}

CheckpointRef CheckpointTable::latest(TrialId trial) const {
  const std::vector<CheckpointRef>& all = of(trial);
  const auto found = std::find_if(all.rbegin(), all.rend(), [](const CheckpointRef& one) {
    return one->state == CheckpointState::kCompleted;
  });
  return found == all.rend() ? nullptr : *found;
}

void CheckpointTable::put(CheckpointRef checkpoint) {
  std::vector<CheckpointRef>& all = by_trial_[checkpoint->trial];
  // A known one keeps its entry in both.
  const auto [entry, is_new] = by_uuid_.emplace(checkpoint->uuid, checkpoint);
  hash_ += hash_of(*checkpoint);
  if (is_new) {
    all.push_back(std::move(checkpoint));
    return;
  }
  const CheckpointRef known = std::exchange(entry->second, checkpoint);
  CHECK(known->trial == checkpoint->trial, "checkpoint {} moves to another trial",
        checkpoint->uuid);
  hash_ -= hash_of(*known);
  const auto place = std::ranges::find(all, known);
  // Found by its pointer: the records are shared.
  *place = checkpoint;
  // In the order in which they were finished: latest() takes the last.
  if (known->state == CheckpointState::kActive) std::rotate(place, place + 1, all.end());
}

void CheckpointTable::erase(TrialId trial) {
  const auto found = by_trial_.find(trial);
  if (found == by_trial_.end()) return;
  for (const CheckpointRef& checkpoint : found->second) {
    hash_ -= hash_of(*checkpoint);
    by_uuid_.erase(checkpoint->uuid);
  }
  by_trial_.erase(found);
}

void CheckpointTable::begin(Collection collection) {
  hash_ += hash_of(collection);
  // A checkpoint goes once.
  for (const std::string& uuid : collection.uuids)
    CHECK(going_.insert(uuid).second, "checkpoint {} is deleted twice", uuid);
  const JobId job = collection.job;
  CHECK(collections_.emplace(job, std::move(collection)).second, "job {} deletes something else",
        job.value());
}

Collection CheckpointTable::end(JobId job) {
  const auto found = collections_.find(job);
  CHECK(found != collections_.end(), "job {} deletes no checkpoints", job.value());
  Collection collection = std::move(found->second);
  collections_.erase(found);
  hash_ -= hash_of(collection);
  for (const std::string& uuid : collection.uuids) going_.erase(uuid);
  return collection;
}

}  // namespace muster

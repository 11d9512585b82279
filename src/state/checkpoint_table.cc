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
  const auto found = std::find_if(all.rbegin(), all.rend(), [](const CheckpointRef& one) { return one->state == CheckpointState::kCompleted; });
  return found == all.rend() ? nullptr : *found;
}

void CheckpointTable::put(CheckpointRef checkpoint) {
  std::vector<CheckpointRef>& all = by_trial_[checkpoint->trial];
  const auto [entry, is_new] = by_uuid_.emplace(checkpoint->uuid, checkpoint);
  hash_ += hash_of(*checkpoint);
  if (is_new) {
    all.push_back(std::move(checkpoint));
    return;
  }
  const CheckpointRef known = std::exchange(entry->second, checkpoint);
  CHECK(known->trial == checkpoint->trial, "checkpoint {} moves to another trial", checkpoint->uuid);
  hash_ -= hash_of(*known);
  const auto place = std::ranges::find(all, known);
  *place = checkpoint;
  if (known->state == CheckpointState::kActive) std::rotate(place, place + 1, all.end());
}

}  // namespace muster

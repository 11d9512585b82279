// The checkpoints of all trials.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/checkpoint.h"

namespace muster {

/// Changed by ClusterState::apply alone. Invariant: `hash()` is the sum of the checkpoints' hashes.
class CheckpointTable {
 public:
  /// Null: not known.
  CheckpointRef find(const std::string& uuid) const;
  /// In the order in which they came to be whole, or were announced.
  const std::vector<CheckpointRef>& of(TrialId trial) const;
  /// What a run of the trial goes on from: the last that came to be whole and still is. Null: there is none.
  CheckpointRef latest(TrialId trial) const;
  /// Adds one or replaces what had its uuid. Requires: that was the same trial's.
  void put(CheckpointRef checkpoint);

  const std::map<TrialId, std::vector<CheckpointRef>>& by_trial() const { return by_trial_; }
  std::uint64_t hash() const { return hash_; }

 private:
  std::map<TrialId, std::vector<CheckpointRef>> by_trial_;
  std::unordered_map<std::string, CheckpointRef> by_uuid_;
  std::uint64_t hash_ = 0;
};

}  // namespace muster

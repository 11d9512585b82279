// The checkpoints of all trials, and the jobs that delete some.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/checkpoint.h"

namespace muster {

/// Changed by ClusterState::apply alone. Invariant: `hash()` is the sum of the checkpoints' and the
/// collections' hashes.
class CheckpointTable {
 public:
  /// Null: not known.
  CheckpointRef find(const std::string& uuid) const;
  /// In the order in which they came to be whole, or were announced.
  const std::vector<CheckpointRef>& of(TrialId trial) const;
  /// What a run of the trial goes on from: the last that came to be whole and still is. Null: there
  /// is none.
  CheckpointRef latest(TrialId trial) const;
  /// Adds one or replaces what had its uuid. Requires: that was the same trial's.
  void put(CheckpointRef checkpoint);

  /// The trial's are gone.
  void erase(TrialId trial);

  /// Requires: the job deletes nothing else; none of its checkpoints is being deleted.
  void begin(Collection collection);
  /// Requires: such a job was begun. It is forgotten.
  Collection end(JobId job);
  const std::map<JobId, Collection>& collections() const { return collections_; }
  /// A job deletes it.
  bool is_going(const std::string& uuid) const { return going_.contains(uuid); }

  const std::map<TrialId, std::vector<CheckpointRef>>& by_trial() const { return by_trial_; }
  std::uint64_t hash() const { return hash_; }

 private:
  std::map<TrialId, std::vector<CheckpointRef>> by_trial_;
  std::unordered_map<std::string, CheckpointRef> by_uuid_;
  std::map<JobId, Collection> collections_;
  std::unordered_set<std::string> going_;
  std::uint64_t hash_ = 0;
};

}  // namespace muster

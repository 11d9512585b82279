// The checkpoints of all trials, and the jobs that delete some (collections): what is recorded
// about their files, which lie in the users' storage.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/checkpoint.h"

namespace muster {

/// A checkpoint is put when it is announced (kActive) and again with each new state; it leaves with
/// its trial. A collection begins with its job and ends with it; meanwhile its checkpoints are
/// is_going(). Changed by ClusterState alone. Invariant: `hash()` is the sum of the checkpoints'
/// and the collections' hashes.
class CheckpointTable {
 public:
  /// Returns the checkpoint; null: none has that uuid. Cost: O(1).
  CheckpointRef find(const std::string& uuid) const;
  /// Returns the trial's checkpoints, also those that are deleted. Order: that in which they were
  /// put; one that was kActive moves to the end when it is put again, so those that are complete
  /// stand in the order in which they became so. The reference is valid until the table changes.
  const std::vector<CheckpointRef>& of(TrialId trial) const;
  /// Returns the checkpoint from which the trial's next run continues: of those in state kCompleted
  /// the one that became so last. Null: there is none. Cost: O(checkpoints of the trial).
  CheckpointRef latest(TrialId trial) const;
  /// Adds the checkpoint or replaces the one of its uuid. Requires: that one was of the same trial;
  /// checked. Cost: O(checkpoints of the trial).
  void put(CheckpointRef checkpoint);

  /// Removes all checkpoints of the trial, if it has any. Collections stay as they are.
  void erase(TrialId trial);

  /// Adds a collection, whose job deletes its checkpoints from now on. Requires: the job has no
  /// other collection, and none of the checkpoints is_going(); checked.
  void begin(Collection collection);
  /// Removes and returns the collection of a job that is over, however it ended; the caller records
  /// what became of each checkpoint. Requires: the job has one; checked.
  Collection end(JobId job);
  const std::map<JobId, Collection>& collections() const { return collections_; }
  /// True when a collection that has not ended names the checkpoint.
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

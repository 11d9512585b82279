// Deletes checkpoints and experiments: it decides which may be deleted, and submits the job that
// does it under their owner's name. The controller itself touches no user's storage.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "engine/draft.h"

namespace muster::requests {

/// Knows which checkpoints must not be deleted: registered ones, those that an experiment began
/// with, or that a trial which has not ended, or not begun, begins with, and what a trial that has
/// not ended goes on from. Lifetime: of the state, until it changes. Cost: O(experiments + trials),
/// once.
class ProtectedCheckpoints {
 public:
  explicit ProtectedCheckpoints(const ClusterState& state);
  /// Returns why a checkpoint is kept, in words; nullopt: it may be deleted.
  std::optional<std::string> because(const Checkpoint& checkpoint) const;
  /// Returns the same, but for what its own trial goes on from: that holds until the trial has
  /// ended.
  std::optional<std::string> needed_elsewhere(const Checkpoint& checkpoint) const;

 private:
  const ClusterState& state_;
  std::map<std::string, std::string> begun_with_;  ///< by uuid: whose beginning it is, in words
};

/// Checks that the storage can be reached. Errors: kFailedPrecondition: files of such a storage
/// cannot be reached from here.
Status check_reachable(const Experiment& experiment);

/// Deletes checkpoints as their owner asked. Errors: kNotFound; kFailedPrecondition for one that is
/// kept, and nothing is deleted then.
Reply delete_checkpoints(Draft& draft, const DeleteCheckpoints& asked, const Identity& identity);

/// Deletes what an experiment's retention does not keep. What is kept for another reason stays, and
/// nothing is said of it.
Reply collect(Draft& draft, const CollectCheckpoints& collect);

/// Deletes an experiment with all that is stored of it. Requires: it is the caller's. Errors:
/// kFailedPrecondition.
Status delete_experiment(Draft& draft, const Experiment& experiment);

}  // namespace muster::requests

// What must hold of experiments in a journal, whatever happened while it was written.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "state/cluster_state.h"

namespace muster::sim {

/// Counts over the searches that were checked.
struct SearchTally {
  std::uint64_t experiments = 0;
  std::uint64_t trials = 0;
  std::uint64_t decisions = 0;
  std::uint64_t operated = 0;     ///< answers of custom searches' clients
  std::uint64_t resized = 0;      ///< trials that were given other slots
  std::uint64_t continued = 0;    ///< experiments that had ended
  std::uint64_t copies = 0;       ///< trials that waited for what their originals saved
  std::uint64_t collections = 0;  ///< jobs that deleted something
  std::uint64_t deleted = 0;      ///< experiments
  /// Checkpoints that a job was to delete which broke off.
  std::set<std::string> broken_off;
};

/// Follows a replay from the first batch: asks each search anew and compares its decisions with
/// those that were journalled, byte by byte.
class SearchChecker {
 public:
  SearchChecker();
  ~SearchChecker();
  /// `state`: before the batch.
  void follow(const ClusterState& state, const EventBatch& batch);
  /// All has ended: trials and their jobs agree, no trial is lost or too many, restarts keep their
  /// limit.
  SearchTally finish(const ClusterState& state) const;

 private:
  struct Searches;
  std::unique_ptr<Searches> searches_;
  SearchTally tally_;
};

}  // namespace muster::sim

// All experiments and trials in memory.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/experiment.h"

namespace muster {

/// Changed by ClusterState::apply alone. Invariant: `hash()` is the sum of the experiments' and the trials' hashes.
class ExperimentTable {
 public:
  const Experiment* find(ExperimentId id) const;
  const Trial* find(TrialId id) const;
  Experiment* find_mutable(ExperimentId id);
  Trial* find_mutable(TrialId id);
  /// Requires: none of that id is there.
  Experiment& insert(Experiment experiment);
  Trial& insert(Trial trial);
  /// With its trials. Requires: it is there.
  void erase(ExperimentId id);
  /// To be called after every change: brings the hash into the sum.
  void rehash(Experiment& experiment);
  void rehash(Trial& trial);

  const std::map<ExperimentId, Experiment>& experiments() const { return experiments_; }
  const std::map<TrialId, Trial>& trials() const { return trials_; }
  std::uint64_t hash() const { return hash_; }

 private:
  std::map<ExperimentId, Experiment> experiments_;
  std::map<TrialId, Trial> trials_;
  std::uint64_t hash_ = 0;
};

}  // namespace muster

// All experiments and trials in memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/experiment.h"

namespace muster {

/// Changed by ClusterState::apply alone. Invariant: `hash()` is the sum of the experiments' and the
/// trials' hashes.
class ExperimentTable {
 public:
  const Experiment* find(ExperimentId id) const;
  const Trial* find(TrialId id) const;
  /// That something of another cluster became, by the number that it had there; null: it is not
  /// here.
  const Experiment* find_imported_experiment(const std::string& origin) const;
  const Trial* find_imported_trial(ExperimentId experiment, const std::string& origin) const;
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

  /// Changes every experiment and every trial.
  template <class Change>
  void for_each_mutable(Change&& change) {
    for (auto& [id, experiment] : experiments_) {
      change(experiment);
      rehash(experiment);
    }
    for (auto& [id, trial] : trials_) {
      change(trial);
      rehash(trial);
    }
  }

  const std::map<ExperimentId, Experiment>& experiments() const { return experiments_; }
  const std::map<TrialId, Trial>& trials() const { return trials_; }
  std::uint64_t hash() const { return hash_; }

 private:
  std::map<ExperimentId, Experiment> experiments_;
  std::map<TrialId, Trial> trials_;
  std::map<std::string, ExperimentId> imported_experiments_;  ///< by origin
  std::map<std::pair<ExperimentId, std::string>, TrialId> imported_trials_;
  std::uint64_t hash_ = 0;
};

}  // namespace muster

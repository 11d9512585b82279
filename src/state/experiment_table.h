// All experiments and trials: they stay in memory until their experiment is deleted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/experiment.h"

namespace muster {

/// Changed by ClusterState alone. A pointer is valid until its object is erased. Invariant:
/// `hash()` is the sum of the experiments' and the trials' hashes.
class ExperimentTable {
 public:
  /// Returns the object; null: there is none. Cost: O(log objects).
  const Experiment* find(ExperimentId id) const;
  const Trial* find(TrialId id) const;
  /// Returns the experiment or trial that was imported from another cluster, by its `imported_from`
  /// there (`origin`); of several the first that was imported. Null: none was.
  const Experiment* find_imported_experiment(const std::string& origin) const;
  const Trial* find_imported_trial(ExperimentId experiment, const std::string& origin) const;
  /// Returns an object to be changed; rehash() must follow. Null: there is none.
  Experiment* find_mutable(ExperimentId id);
  Trial* find_mutable(TrialId id);
  /// Adds the object and hashes it. Requires: none of that id is there; checked.
  Experiment& insert(Experiment experiment);
  Trial& insert(Trial trial);
  /// Removes the experiment and its trials. Requires: all of them are there; checked.
  void erase(ExperimentId id);
  /// Replaces an object's hash in the sum: called after every change of it. Cost: O(size of the
  /// object), for an experiment without its specification.
  void rehash(Experiment& experiment);
  void rehash(Trial& trial);

  /// Calls `change` with every experiment, then with every trial, and rehashes each.
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

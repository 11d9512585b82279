#include "state/experiment_table.h"

#include "base/check.h"
#include "state/state_hash.h"

namespace muster {
namespace {

template <class Map, class Key>
auto* found_in(Map& map, Key key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

template <class Map, class Object>
Object& inserted(Map& map, Object object) {
  const auto id = object.id;
  const auto [entry, is_new] = map.emplace(id, std::move(object));
  CHECK(is_new, "id {} is there already", id.value());
  // A hash that came with the object is of another table.
  entry->second.hash = {};
  return entry->second;
}

template <class Object>
void move_hash(Object& object, std::uint64_t& sum) {
  // Out of the sum and in again: O(1) for the table.
  sum -= object.hash.value;
  object.hash = {hash_of(object)};
  sum += object.hash.value;
}

}  // namespace

const Experiment* ExperimentTable::find(ExperimentId id) const {
  return found_in(experiments_, id);
}
const Trial* ExperimentTable::find(TrialId id) const { return found_in(trials_, id); }
Experiment* ExperimentTable::find_mutable(ExperimentId id) { return found_in(experiments_, id); }
Trial* ExperimentTable::find_mutable(TrialId id) { return found_in(trials_, id); }

const Experiment* ExperimentTable::find_imported_experiment(const std::string& origin) const {
  const auto found = imported_experiments_.find(origin);
  return found == imported_experiments_.end() ? nullptr : find(found->second);
}
const Trial* ExperimentTable::find_imported_trial(ExperimentId experiment,
                                                  const std::string& origin) const {
  const auto found = imported_trials_.find({experiment, origin});
  return found == imported_trials_.end() ? nullptr : find(found->second);
}

Experiment& ExperimentTable::insert(Experiment experiment) {
  Experiment& kept = inserted(experiments_, std::move(experiment));
  // Own experiments have no origin and are not in the index.
  if (!kept.spec->imported_from.empty())
    imported_experiments_.emplace(kept.spec->imported_from, kept.id);
  rehash(kept);
  return kept;
}
Trial& ExperimentTable::insert(Trial trial) {
  Trial& kept = inserted(trials_, std::move(trial));
  if (!kept.imported_from.empty())
    imported_trials_.emplace(std::pair(kept.experiment, kept.imported_from), kept.id);
  rehash(kept);
  return kept;
}
void ExperimentTable::erase(ExperimentId id) {
  const auto found = experiments_.find(id);
  CHECK(found != experiments_.end(), "no experiment {}", id.value());
  for (const TrialId trial : found->second.trials) {
    const auto entry = trials_.find(trial);
    CHECK(entry != trials_.end(), "no trial {}", trial.value());
    hash_ -= entry->second.hash.value;
    // Own trials have an empty origin, which is in no index.
    imported_trials_.erase({id, entry->second.imported_from});
    trials_.erase(entry);
  }
  const auto origin = imported_experiments_.find(found->second.spec->imported_from);
  // Another import from the same origin may have come first.
  if (origin != imported_experiments_.end() && origin->second == id)
    imported_experiments_.erase(origin);
  hash_ -= found->second.hash.value;
  experiments_.erase(found);
}
void ExperimentTable::rehash(Experiment& experiment) { move_hash(experiment, hash_); }
void ExperimentTable::rehash(Trial& trial) { move_hash(trial, hash_); }

}  // namespace muster

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
  entry->second.hash = 0;
  return entry->second;
}

template <class Object>
void move_hash(Object& object, std::uint64_t& sum) {
  sum -= object.hash;
  object.hash = hash_of(object);
  sum += object.hash;
}

}  // namespace

const Experiment* ExperimentTable::find(ExperimentId id) const { return found_in(experiments_, id); }
const Trial* ExperimentTable::find(TrialId id) const { return found_in(trials_, id); }
Experiment* ExperimentTable::find_mutable(ExperimentId id) { return found_in(experiments_, id); }
Trial* ExperimentTable::find_mutable(TrialId id) { return found_in(trials_, id); }

Experiment& ExperimentTable::insert(Experiment experiment) {
  Experiment& kept = inserted(experiments_, std::move(experiment));
  rehash(kept);
  return kept;
}
Trial& ExperimentTable::insert(Trial trial) {
  Trial& kept = inserted(trials_, std::move(trial));
  rehash(kept);
  return kept;
}
void ExperimentTable::erase(ExperimentId id) {
  const auto found = experiments_.find(id);
  CHECK(found != experiments_.end(), "no experiment {}", id.value());
  for (const TrialId trial : found->second.trials) {
    const auto entry = trials_.find(trial);
    CHECK(entry != trials_.end(), "no trial {}", trial.value());
    hash_ -= entry->second.hash;
    trials_.erase(entry);
  }
  hash_ -= found->second.hash;
  experiments_.erase(found);
}
void ExperimentTable::rehash(Experiment& experiment) { move_hash(experiment, hash_); }
void ExperimentTable::rehash(Trial& trial) { move_hash(trial, hash_); }

}  // namespace muster

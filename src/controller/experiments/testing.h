// A core with the search role beside it, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "controller/testing.h"
#include "platform/config/prepare_experiment.h"
#include "platform/search/search_role.h"
#include "records/batch_codec.h"

namespace muster::testing {

/// A cluster of two nodes with two GPUs each, and the search role.
class Lab {
 public:
  explicit Lab(std::vector<EventBatchRef> stored = {});
  ~Lab();

  ExperimentId create(const std::string& yaml, bool is_paused = false);
  Reply ask(const std::string& yaml, bool is_paused = false);
  /// Lets the search decide and the planner plan until nothing moves.
  void run_until_idle();
  const Experiment& experiment(ExperimentId id = ExperimentId(1)) const {
    return *rig.core.state().experiments().find(id);
  }
  const Trial& trial(std::uint32_t id) const {
    return *rig.core.state().experiments().find(TrialId(id));
  }
  const Job& job(std::uint32_t trial_id) const { return rig.job(trial(trial_id).job); }
  bool runs(std::uint32_t trial_id) const {
    return job(trial_id).run != nullptr && !is_finished(job(trial_id).state);
  }
  std::size_t trial_count() const { return rig.core.state().experiments().trials().size(); }

  Reply report(std::uint32_t id, double metric, double epochs, std::uint32_t run = 0,
               Identity who = kAlice);
  void exit(std::uint32_t id, ExitStatus status = {});
  void control(ExperimentVerb verb, Identity who = kAlice);
  std::size_t stops_sent() const {
    return rig.count_sent<StopStep>(0) + rig.count_sent<StopStep>(1);
  }

  Rig rig;
  SearchRole role;

 private:
  std::size_t seen_ = 0;
};

/// Returns the hash of the state as a new start would find it.
std::uint64_t hash_after_restart(Lab& lab);

std::string random_search(std::uint32_t trials, std::uint32_t at_once, std::uint32_t restarts = 5);
std::string halving(bool stops_once);

}  // namespace muster::testing

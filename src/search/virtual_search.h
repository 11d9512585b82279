// Runs a whole search in virtual time, with trials that train at a steady pace and whose metrics a
// function gives. Previews use it, and tests that compare methods without training anything.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "model/hyperparameter.h"
#include "model/search_action.h"
#include "model/search_config.h"
#include "search/searcher.h"

namespace muster::search {

/// The searcher metric of a trial after so many units of training.
using LearningCurve = std::function<double(TrialIndex trial, const Json& hparams, double units)>;

struct VirtualTrial {
  Json hparams;
  double units = 0;                ///< trained when it ended
  double metric = 0;               ///< its last
  std::optional<StopReason> stop;  ///< nothing: it ended by itself
};

struct VirtualResult {
  std::vector<VirtualTrial> trials;  ///< by number
  double makespan = 0;               ///< virtual time, in units of training
  SearchOutcome outcome = SearchOutcome::kCompleted;

  double total_units() const;
};

/// Runs the search to its end. `trial_length`: units after which a trial ends that nothing stops.
/// Clones begin as new trials do. Determinism: what happens at the same instant happens in the
/// order of trials. Cost: O(reports · log trials).
VirtualResult run_virtually(Searcher& searcher, double trial_length, const LearningCurve& curve);

}  // namespace muster::search

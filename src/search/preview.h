// Works out what a search will do before anything trains, with trials that differ at random and
// never change order.
#pragma once

#include <cstdint>

#include "search/virtual_search.h"

namespace muster::search {

struct PreviewRun {
  VirtualResult result;
  std::uint32_t at_once = 0;  ///< most trials that trained at the same time
};

/// Runs the search in virtual time. `trial_length`: as of run_virtually. What Parzen estimators
/// choose says nothing about how many trials there are and how far they train: they are previewed
/// as a random search. Determinism: the seed decides.
PreviewRun preview_run(const SearchConfig& config, const HyperSpace& space, std::uint64_t seed,
                       double trial_length);

}  // namespace muster::search

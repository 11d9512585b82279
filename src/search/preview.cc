#include "search/preview.h"

#include <algorithm>

#include "base/rng.h"

namespace muster::search {

PreviewRun preview_run(const SearchConfig& config, const HyperSpace& space, std::uint64_t seed,
                       double trial_length) {
  SearchConfig previewed = config;
  if (const auto* tpe = std::get_if<TpeSearch>(&previewed.method))
    previewed.method = RandomSearch{tpe->max_trials};
  Searcher searcher(previewed, space, seed);
  PreviewRun run;
  const LearningCurve curve = [&](TrialIndex trial, const Json&, double) {
    // Between two validations: the most that train at once are those who do so when any reports.
    run.at_once = std::max(run.at_once, searcher.training_count());
    // A result by trial alone, even over 0..1: ranks are then random, as before anything is known.
    return Rng(seed ^ (trial.value() * 0x9e37ULL + 1)).unit();
  };
  run.result = run_virtually(searcher, trial_length, curve);
  return run;
}

}  // namespace muster::search

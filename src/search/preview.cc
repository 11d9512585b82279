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
    run.at_once = std::max(run.at_once, searcher.training_count());
    return Rng(seed ^ (trial.value() * 0x9e37ULL + 1)).unit();
  };
  run.result = run_virtually(searcher, trial_length, curve);
  return run;
}

}  // namespace muster::search

#include "search/random_search.h"

#include "search/hyper_sample.h"

namespace muster::search {

std::optional<WantedRun> RandomMethod::next_run(SearchView& view) {
  if (counted_ >= config_.max_trials) return std::nullopt;
  ++counted_;
  WantedRun run;
  run.hparams = sample(view.space, view.rng);
  return run;
}

void RandomMethod::exited(TrialIndex, TrialExit exit, std::optional<double>,
                          std::vector<StopTrial>&) {
  if (exit == TrialExit::kInvalidHparams) --counted_;
}

}  // namespace muster::search

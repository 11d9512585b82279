#include "search/grid_search.h"

#include <algorithm>

namespace muster::search {

std::optional<WantedRun> GridMethod::next_run(SearchView&) {
  if (left_ == 0) return std::nullopt;
  WantedRun run;
  // From the last point down: what is left is one number, which is all of the state.
  run.hparams = grid_.point(--left_);
  return run;
}

std::uint32_t GridMethod::natural_concurrency() const {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(grid_.size(), UINT32_MAX));
}

}  // namespace muster::search

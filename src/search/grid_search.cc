#include "search/grid_search.h"

#include <algorithm>

#include "search/hyper_sample.h"

namespace muster::search {

GridMethod::GridMethod(const HyperSpace& space) : size_(grid_size(space)), left_(size_) {}

std::optional<WantedRun> GridMethod::next_run(SearchView& view) {
  if (left_ == 0) return std::nullopt;
  WantedRun run;
  run.hparams = grid_point(view.space, --left_);
  return run;
}

std::uint32_t GridMethod::natural_concurrency() const {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(size_, UINT32_MAX));
}

}  // namespace muster::search

// Grid search: every point once. Source: Determined 0.38, "grid" (the last point first; no replacement of senseless ones).
#pragma once

#include "search/method.h"

namespace muster::search {

class GridMethod final : public SearchMethod {
 public:
  explicit GridMethod(const HyperSpace& space);
  std::optional<WantedRun> next_run(SearchView& view) override;
  void reported(TrialIndex, const TrialReport&, std::vector<StopTrial>&) override {}
  void exited(TrialIndex, TrialExit, std::optional<double>, std::vector<StopTrial>&) override {}
  std::uint32_t natural_concurrency() const override;
  double progress(const SearchTally& tally) const override { return tally.progress_sum / static_cast<double>(size_); }
  void archive(Archive& archive) override { archive.fields(left_); }

 private:
  std::uint64_t size_;
  std::uint64_t left_;  ///< points not yet tried: those before it in order
};

}  // namespace muster::search

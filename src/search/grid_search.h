// Grid search: every point once. Source: Determined 0.38, "grid" (the last point first; no
// replacement of senseless ones).
#pragma once

#include "search/hyper_sample.h"
#include "search/method.h"

namespace muster::search {

class GridMethod final : public SearchMethod {
 public:
  /// Begins at the last point. Lifetime: the space outlives it.
  explicit GridMethod(const HyperSpace& space) : grid_(space), left_(grid_.size()) {}
  std::optional<WantedRun> next_run(SearchView& view) override;
  void reported(TrialIndex, const TrialReport&, std::vector<StopTrial>&) override {}
  void exited(TrialIndex, TrialExit, std::optional<double>, std::vector<StopTrial>&) override {}
  std::uint32_t natural_concurrency() const override;
  double progress(double trials) const override {
    return trials / static_cast<double>(grid_.size());
  }
  void archive(Archive& archive) override { archive.fields(left_); }

 private:
  Grid grid_;
  std::uint64_t left_;  ///< points not yet tried: those before it in order
};

}  // namespace muster::search

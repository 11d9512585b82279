// Tree-structured Parzen estimators: values that were likelier among the best trials than among the
// others. Source: Bergstra, Bardenet, Bengio, Kegl: Algorithms for hyper-parameter optimization,
// NIPS 2011, section 4; sizes as in Optuna 3.1's default (10 trials at random, 24 candidates, the
// best tenth, at most 25). Trials that still train count among the others, so that many at once do
// not all try the same.
#pragma once

#include <map>

#include "search/method.h"
#include "search/parzen.h"

namespace muster::search {

class TpeMethod final : public SearchMethod {
 public:
  TpeMethod(const TpeSearch& config, const HyperSpace& space);
  std::optional<WantedRun> next_run(SearchView& view) override;
  void reported(TrialIndex, const TrialReport&, std::vector<StopTrial>&) override {}
  void exited(TrialIndex trial, TrialExit exit, std::optional<double> metric,
              std::vector<StopTrial>& stops) override;
  std::uint32_t natural_concurrency() const override { return 1; }
  double progress(double trials) const override { return trials / config_.max_trials; }
  void archive(Archive& archive) override { archive.fields(counted_, finished_, open_); }

 private:
  using Point = std::vector<double>;  ///< one coordinate per dimension of the space, on its axis
  struct Finished {
    TrialIndex trial;
    double metric = 0;
    Point point;
    void archive(Archive& archive) { archive.fields(trial, metric, point); }
  };
  Point random_point(Rng& rng) const;
  Point best_point(Rng& rng) const;

  TpeSearch config_;
  std::vector<std::optional<ParzenAxis>> axes_;  ///< nothing for what does not vary
  std::uint32_t counted_ = 0;
  std::vector<Finished> finished_;
  std::map<TrialIndex, Point> open_;
};

}  // namespace muster::search

// Random search. Source: Bergstra, Bengio: Random search for hyper-parameter optimization, JMLR 13,
// 2012; counting as in Determined 0.38, "random" (a trial whose hyperparameters make no sense is
// replaced without counting).
#pragma once

#include "search/method.h"

namespace muster::search {

class RandomMethod final : public SearchMethod {
 public:
  explicit RandomMethod(const RandomSearch& config) : config_(config) {}
  std::optional<WantedRun> next_run(SearchView& view) override;
  void reported(TrialIndex, const TrialReport&, std::vector<StopTrial>&) override {}
  void exited(TrialIndex, TrialExit exit, std::optional<double>, std::vector<StopTrial>&) override;
  std::uint32_t natural_concurrency() const override { return config_.max_trials; }
  double progress(double trials) const override { return trials / config_.max_trials; }
  void archive(Archive& archive) override { archive.fields(counted_); }

 private:
  RandomSearch config_;
  std::uint32_t counted_ = 0;  ///< trials created and not found senseless
};

}  // namespace muster::search

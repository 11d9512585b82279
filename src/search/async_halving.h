// Asynchronous successive halving, stopping form: a trial trains on unless, at a rung, it is not
// among the best 1/divisor of those that have come there so far; the first to come always goes on.
// Source: Li et al., A system for massively parallel hyperparameter tuning, MLSys 2020; this form
// as in Determined 0.38 (async_halving) and in Optuna's SuccessiveHalvingPruner.
#pragma once

#include <map>

#include "search/method.h"
#include "search/rungs.h"

namespace muster::search {

class AsyncHalvingMethod final : public SearchMethod {
 public:
  /// `bracket`: the number that its runs and reasons bear.
  explicit AsyncHalvingMethod(const AsyncHalving& config, std::uint32_t bracket = 0);
  std::optional<WantedRun> next_run(SearchView& view) override;
  void reported(TrialIndex trial, const TrialReport& report,
                std::vector<StopTrial>& stops) override;
  void exited(TrialIndex trial, TrialExit exit, std::optional<double> metric,
              std::vector<StopTrial>& stops) override;
  std::uint32_t natural_concurrency() const override { return halving_concurrency(config_); }
  std::optional<double> awaits(TrialIndex trial) const override;
  double progress(double trials) const override;
  void archive(Archive& archive) override { archive.fields(rungs_, at_, counted_, ended_); }

 private:
  void leave(TrialIndex trial);

  AsyncHalving config_;
  std::uint32_t bracket_;
  std::vector<std::uint64_t> units_;
  std::vector<std::vector<RungEntry>> rungs_;  ///< best first
  std::map<TrialIndex, std::uint32_t> at_;     ///< the rung that each trial in training goes for
  std::uint32_t counted_ = 0;                  ///< trials created and not found senseless
  std::uint32_t ended_ = 0;
};

}  // namespace muster::search

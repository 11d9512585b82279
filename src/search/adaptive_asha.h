// Adaptive ASHA: several brackets of asynchronous halving side by side, from few early stops to
// many, so that no single choice of aggressiveness must be right. Source: Li et al., Hyperband,
// JMLR 18, 2018, section 3 (brackets); sizes as in Determined 0.38, adaptive_asha, except that
// floor(log) is exact.
#pragma once

#include <map>

#include "search/method.h"

namespace muster::search {

struct BracketPlan {
  std::uint32_t num_rungs = 1;
  std::uint32_t max_trials = 1;
  friend bool operator==(const BracketPlan&, const BracketPlan&) = default;
};

/// Returns the brackets of a configuration, most rungs first; their trials add up to max_trials,
/// one each at least. Requires: no more bracket_rungs than max_trials.
std::vector<BracketPlan> adaptive_brackets(const AdaptiveAsha& config);
/// Divides trials among brackets in proportion to divisor^(rungs-1) / rungs, rounded down, one each
/// at least; what is left goes to the first.
std::vector<std::uint32_t> split_trials(std::uint32_t max_trials, double divisor,
                                        const std::vector<std::uint32_t>& rungs);
/// Divides the trials that train at once among brackets: evenly, what is left to the first ones;
/// without a limit each gets what the smallest bracket needs. Shape: one number per bracket.
std::vector<std::uint32_t> split_concurrency(std::uint32_t max_concurrent, double divisor,
                                             const std::vector<std::uint32_t>& trials);

class AdaptiveAshaMethod final : public SearchMethod {
 public:
  explicit AdaptiveAshaMethod(const AdaptiveAsha& config);
  std::optional<WantedRun> next_run(SearchView& view) override;
  void reported(TrialIndex trial, const TrialReport& report,
                std::vector<StopTrial>& stops) override;
  void exited(TrialIndex trial, TrialExit exit, std::optional<double> metric,
              std::vector<StopTrial>& stops) override;
  std::uint32_t natural_concurrency() const override;
  std::optional<double> awaits(TrialIndex trial) const override;
  double progress(double trials) const override;
  void archive(Archive& archive) override;

 private:
  AdaptiveAsha config_;
  std::vector<std::uint32_t> trials_;  ///< per bracket
  std::vector<std::unique_ptr<SearchMethod>> brackets_;
  std::vector<std::uint32_t> bracket_of_;  ///< by trial
};

}  // namespace muster::search

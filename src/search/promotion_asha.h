// Asynchronous successive halving, promoting form: a trial trains to a rung and waits there; it
// goes on when it is among the best 1/divisor of those that have come there, at once or when others
// have come. Source: Li et al., A system for massively parallel hyperparameter tuning, MLSys 2020,
// algorithm 2; the order of promotions as in Determined up to 0.37 (`stop_once: false`).
#pragma once

#include <map>

#include "search/method.h"
#include "search/rungs.h"

namespace muster::search {

class PromotionAshaMethod final : public SearchMethod {
 public:
  explicit PromotionAshaMethod(const AsyncHalving& config, std::uint32_t bracket = 0);
  std::optional<WantedRun> next_run(SearchView& view) override;
  void reported(TrialIndex trial, const TrialReport& report,
                std::vector<StopTrial>& stops) override;
  void exited(TrialIndex trial, TrialExit exit, std::optional<double> metric,
              std::vector<StopTrial>& stops) override;
  std::uint32_t natural_concurrency() const override { return halving_concurrency(config_); }
  double progress(double trials) const override { return trials / config_.max_trials; }
  void archive(Archive& archive) override {
    archive.fields(rungs_, at_, gone_, promoted_, counted_);
  }

 private:
  struct Rung {
    std::vector<RungEntry> entries;  ///< best first
    std::vector<TrialIndex> ahead;   ///< promoted from here
    std::uint32_t coming = 0;        ///< trials that train for it or are to
    void archive(Archive& archive) { archive.fields(entries, ahead, coming); }
  };
  void arrive(TrialIndex trial, double metric, std::vector<StopTrial>& stops);
  std::optional<TrialIndex> promotable(Rung& rung, TrialIndex arrived, std::uint32_t rank) const;
  void close_out(std::vector<StopTrial>& stops);

  AsyncHalving config_;
  std::uint32_t bracket_;
  std::vector<std::uint64_t> units_;
  std::vector<Rung> rungs_;
  std::map<TrialIndex, std::uint32_t> at_;  ///< the rung that each open trial goes for or waits at
  std::vector<TrialIndex> gone_;  ///< failed: they hold their places, and go no further themselves
  std::vector<TrialIndex> promoted_;  ///< in the order of promotion, not yet asked for
  std::uint32_t counted_ = 0;
};

}  // namespace muster::search

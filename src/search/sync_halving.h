// Synchronous successive halving: all trials of a rung are awaited, then the best go on. Hyperband
// runs several such brackets. Source: Jamieson, Talwalkar: Non-stochastic best arm identification
// and hyperparameter optimization, AISTATS 2016.
#pragma once

#include <map>

#include "search/method.h"
#include "search/rungs.h"

namespace muster::search {

/// How many trials train how far. Shape: fewer trials and more training from rung to rung.
struct SyncRung {
  std::uint32_t trials = 1;
  std::uint64_t units = 1;
  friend bool operator==(const SyncRung&, const SyncRung&) = default;
};
using SyncBracketPlan = std::vector<SyncRung>;

/// Returns one bracket: max_trials / divisor^i trials, at least one, at rung i.
SyncBracketPlan halving_bracket(const SyncHalving& config);

/// Runs brackets one after the other; the next begins where the one before leaves room.
class SyncHalvingMethod final : public SearchMethod {
 public:
  explicit SyncHalvingMethod(std::vector<SyncBracketPlan> plans);
  std::optional<WantedRun> next_run(SearchView& view) override;
  void reported(TrialIndex trial, const TrialReport& report,
                std::vector<StopTrial>& stops) override;
  void exited(TrialIndex trial, TrialExit exit, std::optional<double> metric,
              std::vector<StopTrial>& stops) override;
  std::uint32_t natural_concurrency() const override;
  double progress(double trials) const override;
  void archive(Archive& archive) override {
    archive.fields(brackets_, bracket_of_, trained_units_);
  }

 private:
  struct Bracket {
    std::uint32_t rung = 0;
    std::uint32_t begun = 0;           ///< trials created in the first rung
    std::vector<TrialIndex> promoted;  ///< to train for this rung, not yet asked for
    std::vector<RungEntry> entries;    ///< results at this rung, best first
    std::vector<TrialIndex> gone;      ///< failed: they are not promoted
    std::uint32_t awaited = 0;         ///< results that this rung will have
    void archive(Archive& archive) {
      archive.fields(rung, begun, promoted, entries, gone, awaited);
    }
  };
  void arrive(std::uint32_t index, RungEntry entry, std::vector<StopTrial>& stops);
  void close_rung(std::uint32_t index, std::vector<StopTrial>& stops);

  std::vector<SyncBracketPlan> plans_;
  std::vector<Bracket> brackets_;
  std::map<TrialIndex, std::uint32_t> bracket_of_;  ///< of open trials
  std::uint64_t trained_units_ = 0;  ///< units of all results so far, each from its rung before
  std::uint64_t total_units_ = 0;
};

}  // namespace muster::search

// Each trial is judged when it comes to a rung, among those that came before it: nobody waits, and
// a trial that came early may go on that later ones would have stopped. A stop is decided by rank
// at that moment and is never taken back.

#include "search/async_halving.h"

#include <limits>

#include "search/hyper_sample.h"

namespace muster::search {

AsyncHalvingMethod::AsyncHalvingMethod(const AsyncHalving& config, std::uint32_t bracket)
    : config_(config),
      bracket_(bracket),
      units_(rung_units(config.num_rungs, config.max_time, config.divisor)),
      rungs_(config.num_rungs) {}

std::optional<WantedRun> AsyncHalvingMethod::next_run(SearchView& view) {
  if (counted_ >= config_.max_trials) return std::nullopt;
  ++counted_;
  at_[view.next_trial] = 0;
  WantedRun run;
  run.bracket = bracket_;
  run.hparams = sample(view.space, view.rng);
  return run;
}

void AsyncHalvingMethod::reported(TrialIndex trial, const TrialReport& report,
                                  std::vector<StopTrial>& stops) {
  // It has ended or was stopped here: reports that were under way still come.
  const auto found = at_.find(trial);
  if (found == at_.end()) return;
  std::uint32_t& rung = found->second;
  // A report may have passed several rungs: it is judged at each.
  while (report.time >= static_cast<double>(units_[rung])) {
    const std::uint32_t rank = insert_ranked(rungs_[rung], {trial, report.metric});
    const auto count = static_cast<std::uint32_t>(rungs_[rung].size());
    // At least the best one goes on, so that a first trial is not stopped for being alone.
    const auto cut = std::max(1U, static_cast<std::uint32_t>(count / config_.divisor));
    const bool is_top = rung + 1 == units_.size();
    if (is_top || rank >= cut) {
      const StopCause cause = is_top ? StopCause::kTrained : StopCause::kRungCut;
      stops.push_back({trial, {cause, bracket_, rung, rank, is_top ? 0 : cut, count}});
      leave(trial);
      return;
    }
    ++rung;
  }
}

/// A failure is the worst result of the rung that the trial went for.
void AsyncHalvingMethod::exited(TrialIndex trial, TrialExit exit, std::optional<double>,
                                std::vector<StopTrial>&) {
  const auto found = at_.find(trial);
  if (found == at_.end()) return;
  // Counts as never begun: its results are taken from the rungs, and another trial takes its
  // number.
  if (exit == TrialExit::kInvalidHparams) {
    --counted_;
    for (auto& entries : rungs_)
      std::erase_if(entries, [&](const RungEntry& entry) { return entry.trial == trial; });
    at_.erase(found);
    return;
  }
  if (exit != TrialExit::kCompleted) {
    // At the end of the ranking: infinity is worse than any result.
    rungs_[found->second].push_back({trial, std::numeric_limits<double>::infinity()});
  }
  leave(trial);
}

void AsyncHalvingMethod::leave(TrialIndex trial) {
  at_.erase(trial);
  ++ended_;
}

std::optional<double> AsyncHalvingMethod::awaits(TrialIndex trial) const {
  const auto found = at_.find(trial);
  if (found == at_.end()) return std::nullopt;
  return static_cast<double>(units_[found->second]);
}

/// Most of the work is in the first rung, until all trials have been there.
double AsyncHalvingMethod::progress(double) const {
  const double total = config_.max_trials;
  // A fifth is left for the higher rungs, as in Determined: trials there are few.
  if (ended_ == 0 || rungs_[0].size() < config_.max_trials)
    return static_cast<double>(rungs_[0].size()) / (1.2 * total);
  return std::max(ended_ / total, 1 / 1.2);
}

}  // namespace muster::search

// Trials stop at each rung and wait; one more result at a rung may raise its quota by one, and
// then the best that waits is taken further. A trial is ended only when nobody can come to its
// rung any more, since until then it may still be promoted.

#include "search/promotion_asha.h"

#include <limits>

#include "search/hyper_sample.h"

namespace muster::search {

PromotionAshaMethod::PromotionAshaMethod(const AsyncHalving& config, std::uint32_t bracket)
    : config_(config),
      bracket_(bracket),
      units_(rung_units(config.num_rungs, config.max_time, config.divisor)),
      rungs_(config.num_rungs) {}

std::optional<WantedRun> PromotionAshaMethod::next_run(SearchView& view) {
  WantedRun run;
  run.bracket = bracket_;
  // A trial that may go on comes before a new one: it is nearer to a result.
  if (!promoted_.empty()) {
    run.trial = promoted_.front();
    promoted_.erase(promoted_.begin());
    run.target = units_[at_.at(*run.trial)];
    return run;
  }
  if (counted_ >= config_.max_trials) return std::nullopt;
  ++counted_;
  // Counted before it reports: close_out() must not close a rung that somebody is on the way to.
  ++rungs_[0].coming;
  at_[view.next_trial] = 0;
  run.hparams = sample(view.space, view.rng);
  run.target = units_[0];
  return run;
}

void PromotionAshaMethod::reported(TrialIndex trial, const TrialReport& report,
                                   std::vector<StopTrial>& stops) {
  if (!at_.contains(trial)) return;
  arrive(trial, report.metric, stops);
  close_out(stops);
}

void PromotionAshaMethod::exited(TrialIndex trial, TrialExit exit, std::optional<double>,
                                 std::vector<StopTrial>& stops) {
  const auto found = at_.find(trial);
  if (found == at_.end()) return;
  const std::uint32_t rung = found->second;
  const bool is_waiting = std::ranges::find(rungs_[rung].entries, trial, &RungEntry::trial) !=
                          rungs_[rung].entries.end();
  // As if it had never begun: out of each rung, so that another may take its number.
  if (exit == TrialExit::kInvalidHparams) {
    --counted_;
    if (!is_waiting) --rungs_[rung].coming;
    for (Rung& each : rungs_) {
      std::erase_if(each.entries, [&](const RungEntry& entry) { return entry.trial == trial; });
      std::erase(each.ahead, trial);
    }
    std::erase(promoted_, trial);
    at_.erase(found);
    return;
  }
  // It keeps its ranks in the rungs below, where others were judged by it.
  gone_.push_back(trial);
  std::erase(promoted_, trial);
  if (!is_waiting) arrive(trial, std::numeric_limits<double>::infinity(), stops);
  close_out(stops);
}

/// One more result at the trial's rung: it, or another, may go on.
void PromotionAshaMethod::arrive(TrialIndex trial, double metric, std::vector<StopTrial>& stops) {
  // A trial that has failed is promoted like any other, and comes to the next rung at once: hence
  // a loop.
  for (std::optional<TrialIndex> moving = trial; moving;) {
    const std::uint32_t index = at_.at(*moving);
    Rung& rung = rungs_[index];
    --rung.coming;
    const std::uint32_t rank = insert_ranked(rung.entries, {*moving, metric});
    const bool is_gone = std::ranges::find(gone_, *moving) != gone_.end();
    if (index + 1 == units_.size()) {
      const auto count = static_cast<std::uint32_t>(rung.entries.size());
      if (!is_gone)
        stops.push_back({*moving, {StopCause::kTrained, bracket_, index, rank, 0, count}});
      at_.erase(*moving);
      return;
    }
    moving = promotable(rung, *moving, rank);
    if (!moving) return;
    rung.ahead.push_back(*moving);
    ++rungs_[index + 1].coming;
    at_[*moving] = index + 1;
    if (std::ranges::find(gone_, *moving) == gone_.end()) {
      promoted_.push_back(*moving);
      return;
    }
    metric =
        std::numeric_limits<double>::infinity();  // what has failed comes last at the next rung too
  }
}

/// With one more result the quota may have grown by one: for who arrived, if good enough, else for
/// the best that waits there.
std::optional<TrialIndex> PromotionAshaMethod::promotable(Rung& rung, TrialIndex arrived,
                                                          std::uint32_t rank) const {
  // How many of so many results may go on: the best 1/divisor, rounded down.
  const auto quota = [this](std::size_t count) {
    return static_cast<std::uint32_t>(static_cast<double>(count) / config_.divisor);
  };
  const std::uint32_t before = quota(rung.entries.size() - 1);
  const std::uint32_t now = quota(rung.entries.size());
  if (rank < now) return arrived;
  if (now == before) return std::nullopt;
  // By rank: the first that the old quota left out.
  const TrialIndex other = rung.entries[before].trial;
  if (std::ranges::find(rung.ahead, other) != rung.ahead.end()) return std::nullopt;
  return other;
}

/// Once all trials have been at the lowest rung, a rung that nobody comes to any more closes those
/// that wait at it.
void PromotionAshaMethod::close_out(std::vector<StopTrial>& stops) {
  if (rungs_[0].entries.size() < config_.max_trials) return;
  // From the bottom up: a rung is only final once the one below it is.
  for (std::uint32_t i = 0; i + 1 < units_.size() && rungs_[i].coming == 0; ++i) {
    const Rung& rung = rungs_[i];
    const auto count = static_cast<std::uint32_t>(rung.entries.size());
    const auto cut = static_cast<std::uint32_t>(count / config_.divisor);
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      const TrialIndex trial = rung.entries[rank].trial;
      const auto open = at_.find(trial);
      // It has gone further, or has ended.
      if (open == at_.end() || open->second != i) continue;
      if (std::ranges::find(gone_, trial) == gone_.end()) {
        stops.push_back({trial, {StopCause::kRungCut, bracket_, i, rank, cut, count}});
      }
      at_.erase(open);
    }
  }
}

}  // namespace muster::search

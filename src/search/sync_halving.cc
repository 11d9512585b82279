// A rung closes when everybody whom it awaits has come or gone; until then the best are not known.
// Several brackets are run side by side, each in its own rung.

#include "search/sync_halving.h"

#include <algorithm>
#include <limits>

#include "search/hyper_sample.h"

namespace muster::search {
namespace {

std::uint64_t units_of_rung(const SyncBracketPlan& plan, std::uint32_t rung) {
  // Only what is trained between two rungs: a trial goes on from where it was.
  return plan[rung].units - (rung > 0 ? plan[rung - 1].units : 0);
}

}  // namespace

SyncBracketPlan halving_bracket(const SyncHalving& config) {
  SyncBracketPlan plan;
  const auto units = rung_units(config.num_rungs, config.max_time, config.divisor);
  std::uint32_t trials = config.max_trials;
  for (const std::uint64_t at : units) {
    plan.push_back({trials, at});
    // At least one comes to the top.
    trials = std::max(1U, trials / config.divisor);
  }
  return plan;
}

SyncHalvingMethod::SyncHalvingMethod(std::vector<SyncBracketPlan> plans)
    : plans_(std::move(plans)), brackets_(plans_.size()) {
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    brackets_[i].awaited = plans_[i][0].trials;
    for (std::uint32_t rung = 0; rung < plans_[i].size(); ++rung) {
      total_units_ += plans_[i][rung].trials * units_of_rung(plans_[i], rung);
    }
  }
}

std::optional<WantedRun> SyncHalvingMethod::next_run(SearchView& view) {
  // The first bracket that wants somebody: later ones fill what room is left.
  for (std::uint32_t i = 0; i < brackets_.size(); ++i) {
    Bracket& bracket = brackets_[i];
    WantedRun run;
    run.bracket = i;
    if (!bracket.promoted.empty()) {
      run.trial = bracket.promoted.front();
      bracket.promoted.erase(bracket.promoted.begin());
      run.target = plans_[i][bracket.rung].units;
      return run;
    }
    // New trials belong to the lowest rung, while it is open.
    if (bracket.rung > 0 || bracket.begun >= plans_[i][0].trials) continue;
    ++bracket.begun;
    bracket_of_[view.next_trial] = i;
    run.hparams = sample(view.space, view.rng);
    run.target = plans_[i][0].units;
    return run;
  }
  return std::nullopt;
}

void SyncHalvingMethod::reported(TrialIndex trial, const TrialReport& report,
                                 std::vector<StopTrial>& stops) {
  const auto found = bracket_of_.find(trial);
  if (found != bracket_of_.end()) arrive(found->second, {trial, report.metric}, stops);
}

void SyncHalvingMethod::exited(TrialIndex trial, TrialExit exit, std::optional<double>,
                               std::vector<StopTrial>& stops) {
  const auto found = bracket_of_.find(trial);
  if (found == bracket_of_.end()) return;
  const std::uint32_t index = found->second;
  Bracket& bracket = brackets_[index];
  const bool is_waiting =
      std::ranges::find(bracket.entries, trial, &RungEntry::trial) != bracket.entries.end();
  std::erase(bracket.promoted, trial);
  // Only before its first result: later the others have been ranked against it.
  if (exit == TrialExit::kInvalidHparams && bracket.rung == 0 && !is_waiting) {
    --bracket.begun;  // another takes its place
    bracket_of_.erase(found);
    return;
  }
  bracket.gone.push_back(trial);
  if (!is_waiting) arrive(index, {trial, std::numeric_limits<double>::infinity()}, stops);
}

void SyncHalvingMethod::arrive(std::uint32_t index, RungEntry entry,
                               std::vector<StopTrial>& stops) {
  Bracket& bracket = brackets_[index];
  bracket.entries.insert(std::ranges::lower_bound(bracket.entries, entry, is_before), entry);
  trained_units_ += units_of_rung(plans_[index], bracket.rung);
  if (bracket.entries.size() == bracket.awaited) close_rung(index, stops);
}

/// All have come: the best go on, the others end.
void SyncHalvingMethod::close_rung(std::uint32_t index, std::vector<StopTrial>& stops) {
  Bracket& bracket = brackets_[index];
  const SyncBracketPlan& plan = plans_[index];
  const bool is_top = bracket.rung + 1 == plan.size();
  const std::uint32_t cut = is_top ? 0 : plan[bracket.rung + 1].trials;
  const auto count = static_cast<std::uint32_t>(bracket.entries.size());
  std::vector<TrialIndex> promoted;
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    const TrialIndex trial = bracket.entries[rank].trial;
    const bool is_gone = std::ranges::find(bracket.gone, trial) != bracket.gone.end();
    // Who has gone makes room for the next: as many go on as the plan says, if there are as many.
    if (!is_gone && promoted.size() < cut) {
      promoted.push_back(trial);
      continue;
    }
    const StopCause cause = is_top ? StopCause::kTrained : StopCause::kRungCut;
    if (!is_gone) stops.push_back({trial, {cause, index, bracket.rung, rank, cut, count}});
    bracket_of_.erase(trial);
  }
  if (!is_top) ++bracket.rung;
  // None, if all have gone: the bracket is at its end.
  bracket.awaited = static_cast<std::uint32_t>(promoted.size());
  bracket.promoted = std::move(promoted);
  bracket.entries.clear();
}

std::uint32_t SyncHalvingMethod::natural_concurrency() const {
  std::uint32_t most = 1;
  for (const SyncBracketPlan& plan : plans_) most = std::max(most, plan[0].trials);
  return most;
}

double SyncHalvingMethod::progress(double) const {
  return static_cast<double>(trained_units_) / static_cast<double>(total_units_);
}

}  // namespace muster::search

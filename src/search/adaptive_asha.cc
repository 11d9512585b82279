// The method is a division: trials and room over brackets, and each bracket a method of its own.
// What is told of a trial goes to the bracket that began it.

#include "search/adaptive_asha.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "search/async_halving.h"
#include "search/promotion_asha.h"
#include "search/rungs.h"

namespace muster::search {
namespace {

std::vector<std::uint32_t> rungs_by_mode(const AdaptiveAsha& config) {
  // The most rungs that the settings allow, that have whole units at the lowest, and that enough
  // trials come to so that one reaches the top.
  const std::uint32_t most = std::min(
      {config.max_rungs, whole_log(static_cast<double>(config.max_time), config.divisor) + 1,
       whole_log(config.max_trials, config.divisor) + 1});
  // Conservative mode tries every number of rungs, standard the upper half, aggressive the most
  // alone. Source: Determined's adaptive_asha, mode.
  std::uint32_t least = 1;
  if (config.mode == AshaMode::kAggressive) least = most;
  if (config.mode == AshaMode::kStandard) least = (most - 1) / 2 + 1;
  std::vector<std::uint32_t> rungs;
  // A bracket has one trial at least: more brackets than trials would exceed max_trials.
  for (std::uint32_t n = most; n >= least && rungs.size() < config.max_trials; --n)
    rungs.push_back(n);
  return rungs;
}

}  // namespace

std::vector<std::uint32_t> split_trials(std::uint32_t max_trials, double divisor,
                                        const std::vector<std::uint32_t>& rungs) {
  std::vector<double> weights;
  // A trial of a bracket of n rungs trains about n / divisor^(n-1) of max_time on average: in the
  // inverse proportion each bracket trains as much. Source: Determined, getBracketMaxTrials.
  for (const std::uint32_t n : rungs) weights.push_back(std::pow(divisor, n - 1) / n);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::uint32_t> trials;
  std::uint32_t given = 0;
  for (const double weight : weights) {
    // Rounded down, as Determined does: the sums of previews agree with its own.
    trials.push_back(std::max(1U, static_cast<std::uint32_t>(weight / sum * max_trials)));
    given += trials.back();
  }
  // To the bracket with the most rungs, whose trials are stopped earliest.
  if (given < max_trials) trials[0] += max_trials - given;
  return trials;
}

std::vector<std::uint32_t> split_concurrency(std::uint32_t max_concurrent, double divisor,
                                             const std::vector<std::uint32_t>& trials) {
  const auto count = static_cast<std::uint32_t>(trials.size());
  if (max_concurrent == 0) {
    return std::vector<std::uint32_t>(count,
                                      std::max(trials.back(), static_cast<std::uint32_t>(divisor)));
  }
  // A bracket without room would never begin, and the search never end.
  const std::uint32_t total = std::max(max_concurrent, count);
  std::vector<std::uint32_t> shares(count, total / count);
  for (std::uint32_t i = 0; i < total % count; ++i) ++shares[i];
  return shares;
}

std::vector<BracketPlan> adaptive_brackets(const AdaptiveAsha& config) {
  std::vector<std::uint32_t> rungs =
      config.bracket_rungs.empty() ? rungs_by_mode(config) : config.bracket_rungs;
  std::ranges::sort(rungs, std::greater<>());
  const auto trials = split_trials(config.max_trials, config.divisor, rungs);
  std::vector<BracketPlan> brackets;
  for (std::size_t i = 0; i < rungs.size(); ++i) brackets.push_back({rungs[i], trials[i]});
  return brackets;
}

AdaptiveAshaMethod::AdaptiveAshaMethod(const AdaptiveAsha& config) : config_(config) {
  for (const BracketPlan& plan : adaptive_brackets(config)) {
    const AsyncHalving halving{plan.num_rungs, plan.max_trials, config.divisor, config.max_time,
                               config.is_promoting};
    const auto bracket = static_cast<std::uint32_t>(brackets_.size());
    if (config.is_promoting) {
      brackets_.push_back(std::make_unique<PromotionAshaMethod>(halving, bracket));
    } else {
      brackets_.push_back(std::make_unique<AsyncHalvingMethod>(halving, bracket));
    }
    trials_.push_back(plan.max_trials);
  }
}

std::optional<WantedRun> AdaptiveAshaMethod::next_run(SearchView& view) {
  const auto shares = split_concurrency(view.max_concurrent, config_.divisor, trials_);
  // Brackets in order, each within its share: the first does not take the room of the last.
  for (std::uint32_t i = 0; i < brackets_.size(); ++i) {
    if (view.training_in(i) >= shares[i]) continue;
    auto run = brackets_[i]->next_run(view);
    if (!run) continue;
    // Trials are numbered in the order in which they begin: so are the entries.
    if (!run->trial) bracket_of_.push_back(i);
    return run;
  }
  return std::nullopt;
}

void AdaptiveAshaMethod::reported(TrialIndex trial, const TrialReport& report,
                                  std::vector<StopTrial>& stops) {
  brackets_[bracket_of_[trial.value()]]->reported(trial, report, stops);
}

void AdaptiveAshaMethod::exited(TrialIndex trial, TrialExit exit, std::optional<double> metric,
                                std::vector<StopTrial>& stops) {
  brackets_[bracket_of_[trial.value()]]->exited(trial, exit, metric, stops);
}

std::uint32_t AdaptiveAshaMethod::natural_concurrency() const {
  const auto shares = split_concurrency(0, config_.divisor, trials_);
  return std::accumulate(shares.begin(), shares.end(), 0U);
}

std::optional<double> AdaptiveAshaMethod::awaits(TrialIndex trial) const {
  return brackets_[bracket_of_[trial.value()]]->awaits(trial);
}

double AdaptiveAshaMethod::progress(double trials) const {
  if (config_.is_promoting) return trials / config_.max_trials;
  double sum = 0;
  for (const auto& bracket : brackets_) sum += bracket->progress(trials);
  return sum / static_cast<double>(brackets_.size());
}

void AdaptiveAshaMethod::archive(Archive& archive) {
  archive.fields(bracket_of_);
  for (const auto& bracket : brackets_) bracket->archive(archive);
}

}  // namespace muster::search

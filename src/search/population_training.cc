// Rounds: all members train to the round's end, the worst are replaced by copies of the best with
// hyperparameters that were moved a little, and the next round begins. A round ends when everybody
// has arrived or gone; who went counts as the worst.

#include "search/population_training.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/hyper_sample.h"

namespace muster::search {
namespace {

/// One value moved by the factor within its domain.
struct Perturb {
  const Json& value;
  double factor;
  bool is_up;
  double moved(double from) const { return is_up ? from * (1 + factor) : from * (1 - factor); }

  Json operator()(const ConstDomain& domain) const { return domain.val; }
  Json operator()(const CategoricalDomain&) const { return value; }
  Json operator()(const IntDomain& domain) const {
    const double to = moved(value.number().value_or(static_cast<double>(domain.minval)));
    // Away from where it was, so that a small whole number changes at all.
    const double whole = is_up ? std::ceil(to) : std::floor(to);
    if (whole <= static_cast<double>(domain.minval)) return domain.minval;
    return whole >= static_cast<double>(domain.maxval) ? domain.maxval
                                                       : static_cast<std::int64_t>(whole);
  }
  Json operator()(const DoubleDomain& domain) const {
    return std::clamp(moved(value.number().value_or(domain.minval)), domain.minval, domain.maxval);
  }
  Json operator()(const LogDomain& domain) const {
    // A base below 1 turns the ends round.
    const auto [low, high] =
        std::minmax({std::pow(domain.base, domain.minval), std::pow(domain.base, domain.maxval)});
    return std::clamp(moved(value.number().value_or(low)), low, high);
  }
};

}  // namespace

Json explore(const HyperSpace& space, const Json& hparams, const PopulationTraining& config,
             Rng& rng) {
  Json result{Json::Object{}};
  for (const Hyperparameter& one : space) {
    const Json* value = hparams.find(one.path);
    const bool is_resampled = value == nullptr || rng.chance(config.resample_probability);
    const bool is_up = rng.chance(0.5);
    result.at(one.path) =
        is_resampled ? sample_value(one.domain, rng)
                     : std::visit(Perturb{*value, config.perturb_factor, is_up}, one.domain);
  }
  return result;
}

std::uint64_t PopulationMethod::target_of(const Member& member) const {
  // Of this member: a copy counts its units from its own beginning.
  return config_.length_per_round * (round_ - member.first_round + 1);
}

std::optional<WantedRun> PopulationMethod::next_run(SearchView& view) {
  WantedRun run;
  if (begun_ < config_.population_size) {
    ++begun_;
    run.hparams = sample(view.space, view.rng);
  } else if (!wanted_.empty()) {
    const Wanted wanted = wanted_.front();
    wanted_.erase(wanted_.begin());
    if (!wanted.is_copy) {
      run.trial = wanted.source;
      run.target = target_of(members_.at(wanted.source));
      return run;
    }
    run.clone_of = wanted.source;
    run.hparams = explore(view.space, members_.at(wanted.source).hparams, config_, view.rng);
  } else {
    return std::nullopt;
  }
  const Member& member = members_[view.next_trial] = {run.hparams, round_};
  run.target = target_of(member);
  return run;
}

void PopulationMethod::reported(TrialIndex trial, const TrialReport& report,
                                std::vector<StopTrial>& stops) {
  if (members_.contains(trial)) arrive({trial, report.metric}, stops);
}

void PopulationMethod::exited(TrialIndex trial, TrialExit, std::optional<double>,
                              std::vector<StopTrial>& stops) {
  // A member that was replaced has no entry: its end was this method's own wish.
  if (!members_.contains(trial) || std::ranges::find(gone_, trial) != gone_.end()) return;
  gone_.push_back(trial);
  // Its result of this round stands: it is only no longer there to go on.
  const bool is_waiting = std::ranges::find(results_, trial, &RungEntry::trial) != results_.end();
  std::erase_if(wanted_,
                [&](const Wanted& wanted) { return !wanted.is_copy && wanted.source == trial; });
  if (!is_waiting) arrive({trial, std::numeric_limits<double>::infinity()}, stops);
}

void PopulationMethod::arrive(RungEntry entry, std::vector<StopTrial>& stops) {
  ++reports_;
  results_.insert(std::ranges::lower_bound(results_, entry, is_before), entry);
  if (results_.size() == config_.population_size) end_round(stops);
}

void PopulationMethod::end_round(std::vector<StopTrial>& stops) {
  const std::uint32_t size = config_.population_size;
  const bool is_last = round_ + 1 >= config_.num_rounds;
  const auto replaced = static_cast<std::uint32_t>(config_.truncate_fraction * size);
  const std::uint32_t cut = is_last ? 0 : size - replaced;
  std::vector<RungEntry> results = std::move(results_);
  results_.clear();
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    const TrialIndex trial = results[rank].trial;
    const bool is_gone = std::ranges::find(gone_, trial) != gone_.end();
    if (rank < cut && !is_gone) {
      wanted_.push_back({trial, false});
      continue;
    }
    members_.erase(trial);
    const StopCause cause = is_last ? StopCause::kTrained : StopCause::kReplaced;
    if (!is_gone) stops.push_back({trial, {cause, 0, round_, rank, cut, size}});
  }
  if (is_last) return;
  // What failed within the part that goes on is replaced too, by copies of the best, round and
  // round.
  // None, when all have failed: then there is nobody to copy.
  const auto going_on = static_cast<std::uint32_t>(wanted_.size());
  for (std::uint32_t i = 0; i + going_on < size && going_on > 0; ++i)
    wanted_.push_back({wanted_[i % going_on].source, true});
  ++round_;
}

double PopulationMethod::progress(double) const {
  return static_cast<double>(reports_) /
         (static_cast<double>(config_.population_size) * config_.num_rounds);
}

}  // namespace muster::search

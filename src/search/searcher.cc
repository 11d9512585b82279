// The searcher guards a method from what a distributed system does to reports: repeats, reports
// after a stop, metrics that are not numbers. It decides when a method is asked, and the method
// decides what for.

#include "search/searcher.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "base/hash.h"
#include "search/adaptive_asha.h"
#include "search/async_halving.h"
#include "search/custom_search.h"
#include "search/grid_search.h"
#include "search/hyperband.h"
#include "search/population_training.h"
#include "search/promotion_asha.h"
#include "search/random_search.h"
#include "search/sync_halving.h"
#include "search/tpe.h"

namespace muster::search {
namespace {

// Seeds that fit a signed number of 32 bits.
constexpr std::uint64_t kTrialSeeds = std::uint64_t{1} << 31;
// So many in a row and no report between: the space itself makes no sense, or the code refuses
// all.
constexpr std::uint32_t kSenselessMax = 100;
constexpr std::size_t kSealSize = sizeof(std::uint64_t);

/// What a method was made from, but for what may change while it runs.
struct ConfigFields {
  Archive& archive;
  void operator()(RandomSearch config) const { archive.fields(config.max_trials); }
  void operator()(GridSearch) const {}
  void operator()(AsyncHalving config) const {
    archive.fields(config.num_rungs, config.max_trials, config.divisor, config.max_time,
                   config.is_promoting);
  }
  void operator()(AdaptiveAsha config) const {
    archive.fields(config.mode, config.max_rungs, config.max_trials, config.divisor,
                   config.max_time, config.bracket_rungs, config.is_promoting);
  }
  void operator()(SyncHalving config) const {
    archive.fields(config.num_rungs, config.max_trials, config.divisor, config.max_time);
  }
  void operator()(Hyperband config) const { archive.fields(config.divisor, config.max_time); }
  void operator()(PopulationTraining config) const {
    archive.fields(config.population_size, config.num_rounds, config.length_per_round,
                   config.truncate_fraction, config.resample_probability, config.perturb_factor);
  }
  void operator()(TpeSearch config) const {
    archive.fields(config.max_trials, config.startup_trials, config.candidates);
  }
  void operator()(CustomSearch) const {}
};

/// The state with a digest of it and of the configuration behind it.
std::string sealed(std::string state, const SearchConfig& config) {
  Archive made_from;
  std::size_t kind = config.method.index();
  bool smaller_is_better = config.smaller_is_better;
  // Not max_concurrent_trials, which may be changed while the search runs.
  made_from.fields(kind, smaller_is_better);
  std::visit(ConfigFields{made_from}, config.method);
  std::uint64_t digest = Hasher().add(made_from.bytes()).add(state).digest();
  Archive seal;
  seal.fields(digest);
  return state + seal.bytes();
}

struct MethodFor {
  const HyperSpace& space;
  using Made = std::unique_ptr<SearchMethod>;
  Made operator()(const RandomSearch& config) const {
    return std::make_unique<RandomMethod>(config);
  }
  Made operator()(const GridSearch&) const { return std::make_unique<GridMethod>(space); }
  Made operator()(const AsyncHalving& config) const {
    if (config.is_promoting) return std::make_unique<PromotionAshaMethod>(config);
    return std::make_unique<AsyncHalvingMethod>(config);
  }
  Made operator()(const AdaptiveAsha& config) const {
    return std::make_unique<AdaptiveAshaMethod>(config);
  }
  Made operator()(const SyncHalving& config) const {
    return std::make_unique<SyncHalvingMethod>(
        std::vector<SyncBracketPlan>{halving_bracket(config)});
  }
  Made operator()(const Hyperband& config) const {
    return std::make_unique<SyncHalvingMethod>(hyperband_brackets(config));
  }
  Made operator()(const PopulationTraining& config) const {
    return std::make_unique<PopulationMethod>(config);
  }
  Made operator()(const TpeSearch& config) const {
    return std::make_unique<TpeMethod>(config, space);
  }
  Made operator()(const CustomSearch&) const { return std::make_unique<CustomMethod>(); }
};

}  // namespace

std::unique_ptr<SearchMethod> make_method(const SearchConfig& config, const HyperSpace& space) {
  return std::visit(MethodFor{space}, config.method);
}

Searcher::Searcher(const SearchConfig& config, HyperSpace space, std::uint64_t seed)
    : config_(config),
      space_(std::make_unique<const HyperSpace>(std::move(space))),
      method_(make_method(config_, *space_)),
      rng_(seed) {}

Result<Searcher> Searcher::load(const SearchConfig& config, HyperSpace space,
                                std::string_view bytes) {
  // The chance comes from the state.
  Searcher searcher(config, std::move(space), 0);
  // The digest of other bytes would not agree, however short they are.
  const std::string_view state = bytes.substr(0, bytes.size() - std::min(bytes.size(), kSealSize));
  if (bytes != sealed(std::string(state), config)) {
    return fail(ErrorCode::kCorruption, "a search's state cannot be read",
                "it is damaged, or of another configuration");
  }
  Archive archive(state);
  searcher.archive(archive);
  CHECK(archive.is_ok() && archive.is_at_end(), "a search's state is not what was written");
  return searcher;
}

std::string Searcher::save() {
  Archive archive;
  this->archive(archive);
  return sealed(archive.bytes(), config_);
}

void Searcher::archive(Archive& archive) {
  std::uint64_t chance = rng_.state();
  archive.fields(chance, trials_, training_, ended_, errored_, canceled_, senseless_, is_given_up_,
                 is_finished_, config_.max_concurrent_trials);
  rng_ = Rng(chance);
  method_->archive(archive);
}

std::vector<SearchAction> Searcher::begin() {
  std::vector<SearchAction> actions;
  fill(actions);
  return actions;
}

Searcher::Trial* Searcher::find(TrialIndex trial) {
  return trial.value() < trials_.size() ? &trials_[trial.value()] : nullptr;
}

/// Less is better, and what is not a number is the worst.
double Searcher::signed_metric(double metric) const {
  if (std::isnan(metric)) return std::numeric_limits<double>::infinity();
  return config_.smaller_is_better ? metric : -metric;
}

std::vector<SearchAction> Searcher::reported(TrialIndex trial, const TrialReport& report) {
  std::vector<SearchAction> actions;
  Trial* known = find(trial);
  // A report without a time could not be put before or after anything.
  if (known == nullptr || known->phase != Phase::kTraining || std::isnan(report.time))
    return actions;
  if (known->target) {
    // A report on the way to the target: the method is asked only about the target itself.
    if (report.time < static_cast<double>(*known->target)) return actions;
    set_phase(*known, Phase::kWaiting);
  }
  // Somebody trains: the hyperparameters do make sense.
  senseless_ = 0;
  std::vector<StopTrial> stops;
  method_->reported(
      trial,
      {method_->sees_raw_metrics() ? report.metric : signed_metric(report.metric), report.time},
      stops);
  stop(stops, actions);
  fill(actions);
  return actions;
}

std::vector<SearchAction> Searcher::exited(TrialIndex trial, TrialExit exit,
                                           std::optional<double> metric) {
  std::vector<SearchAction> actions;
  Trial* known = find(trial);
  if (known == nullptr || known->phase == Phase::kEnded) return actions;
  const bool was_stopped = known->phase == Phase::kStopping;
  set_phase(*known, Phase::kEnded);
  senseless_ = exit == TrialExit::kInvalidHparams ? senseless_ + 1 : 0;
  if (exit == TrialExit::kErrored) ++errored_;
  if (exit == TrialExit::kCanceled) ++canceled_;
  std::vector<StopTrial> stops;
  if (metric) metric = signed_metric(*metric);
  // An end that the method asked for is no news to it.
  if (!was_stopped) method_->exited(trial, exit, metric, stops);
  stop(stops, actions);
  if (senseless_ >= kSenselessMax) give_up(actions);
  fill(actions);
  return actions;
}

std::vector<SearchAction> Searcher::again(TrialIndex trial, TrialExit was) {
  std::vector<SearchAction> actions;
  Trial* known = find(trial);
  if (known == nullptr) return actions;
  // An experiment that had ended goes on: it may be finished once more.
  is_finished_ = is_given_up_ = false;
  senseless_ = 0;
  if (known->phase == Phase::kEnded) {
    --ended_;
    if (was == TrialExit::kErrored) --errored_;
    if (was == TrialExit::kCanceled) --canceled_;
  }
  known->progress = 0;
  set_phase(*known, Phase::kTraining);
  return actions;
}

std::vector<SearchAction> Searcher::operate(const OperationsInput& input,
                                            std::span<const Json> hparams) {
  std::vector<SearchAction> actions;
  std::vector<StopTrial> stops;
  method_->operate(input, hparams, stops);
  stop(stops, actions);
  fill(actions);
  return actions;
}

void Searcher::give_up(std::vector<SearchAction>& actions) {
  if (is_given_up_) return;
  is_given_up_ = true;
  std::vector<StopTrial> all;
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    all.push_back({TrialIndex(static_cast<std::uint32_t>(i)),
                   {StopCause::kSearchOver, trials_[i].bracket, 0, 0, 0, 0}});
  }
  stop(all, actions);
}

std::vector<SearchAction> Searcher::set_max_concurrent(std::uint32_t limit) {
  config_.max_concurrent_trials = limit;
  std::vector<SearchAction> actions;
  fill(actions);
  return actions;
}

void Searcher::set_progress(TrialIndex trial, double progress) {
  // It comes from the trial's own code.
  if (Trial* known = find(trial); known != nullptr && !std::isnan(progress))
    known->progress = std::clamp(progress, 0.0, 1.0);
}

void Searcher::set_phase(Trial& trial, Phase phase) {
  if (trial.bracket >= training_.size()) training_.resize(trial.bracket + 1, 0);
  std::uint32_t& training = training_[trial.bracket];
  if (trial.phase == Phase::kTraining && phase != Phase::kTraining) --training;
  if (trial.phase != Phase::kTraining && phase == Phase::kTraining) ++training;
  if (phase == Phase::kEnded) ++ended_;
  trial.phase = phase;
}

/// A trial that trains is told to stop, and makes room at once; one that waits has nothing to end.
void Searcher::stop(const std::vector<StopTrial>& stops, std::vector<SearchAction>& actions) {
  for (const StopTrial& one : stops) {
    Trial* known = find(one.trial);
    CHECK(known != nullptr, "a method stops trial {}, which is not there", one.trial.value());
    if (known->phase == Phase::kStopping || known->phase == Phase::kEnded) continue;
    // One that waits has no run: there is nobody to wait for.
    set_phase(*known, known->phase == Phase::kWaiting ? Phase::kEnded : Phase::kStopping);
    actions.emplace_back(one);
  }
}

std::uint32_t Searcher::training_count() const {
  return std::accumulate(training_.begin(), training_.end(), 0U);
}

std::uint32_t Searcher::limit() const {
  const std::uint32_t wanted = config_.max_concurrent_trials > 0
                                   ? config_.max_concurrent_trials
                                   : std::max(1U, method_->natural_concurrency());
  return std::min(wanted, kConcurrentMax);
}

/// Begins what is wanted while there is room for it, and ends the search when nothing more can come
/// of it.
void Searcher::fill(std::vector<SearchAction>& actions) {
  if (is_finished_) return;
  // One by one: each choice may depend on who has been begun before it.
  while (!is_given_up_ && training_count() < limit()) {
    SearchView view{*space_, rng_, TrialIndex(static_cast<std::uint32_t>(trials_.size())),
                    config_.max_concurrent_trials, training_};
    auto run = method_->next_run(view);
    if (!run) break;
    launch(std::move(*run), actions);
  }
  // Nothing trains, and the method wants nothing more or may not: the end.
  if (training_count() == 0 && (is_given_up_ || !method_->is_open())) close(actions);
}

void Searcher::launch(WantedRun run, std::vector<SearchAction>& actions) {
  if (run.trial) {
    Trial* known = find(*run.trial);
    CHECK(known != nullptr && known->phase == Phase::kWaiting && run.target,
          "a method takes a trial further that does not wait");
    known->target = run.target;
    set_phase(*known, Phase::kTraining);
    actions.emplace_back(ContinueTrial{*run.trial, *run.target});
    return;
  }
  const TrialIndex trial(static_cast<std::uint32_t>(trials_.size()));
  trials_.push_back({Phase::kWaiting, run.bracket, run.target, 0});
  set_phase(trials_.back(), Phase::kTraining);
  // Drawn in any case, so that a seed in the configuration changes no other choice.
  const auto drawn = static_cast<std::uint32_t>(rng_.below(kTrialSeeds));
  const std::uint32_t seed = config_.trial_seed.value_or(drawn);
  actions.emplace_back(CreateTrial{trial, seed, run.bracket, std::move(run.hparams), run.target,
                                   run.clone_of, std::move(run.source)});
}

/// Nothing trains and nothing is wanted: what still waits has waited in vain.
void Searcher::close(std::vector<SearchAction>& actions) {
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    if (trials_[i].phase != Phase::kWaiting) continue;
    set_phase(trials_[i], Phase::kEnded);
    actions.emplace_back(StopTrial{TrialIndex(static_cast<std::uint32_t>(i)),
                                   {StopCause::kSearchOver, trials_[i].bracket, 0, 0, 0, 0}});
  }
  if (ended_ < trials_.size()) return;  // some are still stopping
  is_finished_ = true;
  const auto count = static_cast<std::uint32_t>(trials_.size());
  SearchOutcome outcome = SearchOutcome::kCompleted;
  // One that failed among others is a result; all of them are a failure of the experiment.
  if (is_given_up_ || (count > 0 && errored_ == count)) outcome = SearchOutcome::kFailed;
  if (!is_given_up_ && count > 0 && canceled_ == count) outcome = SearchOutcome::kCanceled;
  // What a client has said about its own search goes before what we conclude.
  if (!is_given_up_) outcome = method_->verdict().value_or(outcome);
  actions.emplace_back(FinishSearch{outcome});
}

std::optional<double> Searcher::awaits(TrialIndex trial) const {
  if (trial.value() >= trials_.size()) return std::nullopt;
  const Trial& known = trials_[trial.value()];
  if (known.phase != Phase::kTraining) return std::nullopt;
  if (known.target) return static_cast<double>(*known.target);
  return method_->awaits(trial);
}

double Searcher::progress() const {
  if (is_finished_) return 1;
  double trials = 0;
  for (const Trial& trial : trials_) {
    trials += trial.phase == Phase::kEnded || trial.phase == Phase::kStopping ? 1 : trial.progress;
  }
  return std::clamp(method_->progress(trials), 0.0, 1.0);
}

}  // namespace muster::search

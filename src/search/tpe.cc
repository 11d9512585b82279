// Each dimension by itself: the finished trials are divided into the best and the others, a
// density is estimated for each, and of some draws from the first the one is chosen at which the
// ratio of the two is greatest. Source: Bergstra et al. 2011, section 4.1: that maximises expected
// improvement.

#include "search/tpe.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace muster::search {
namespace {

struct AxisOf {
  using Kind = ParzenAxis::Kind;
  std::optional<ParzenAxis> operator()(const ConstDomain&) const { return std::nullopt; }
  std::optional<ParzenAxis> operator()(const IntDomain& domain) const {
    return ParzenAxis{Kind::kWhole, static_cast<double>(domain.minval),
                      static_cast<double>(domain.maxval)};
  }
  std::optional<ParzenAxis> operator()(const DoubleDomain& domain) const {
    if (domain.minval == domain.maxval) return std::nullopt;
    return ParzenAxis{Kind::kReal, domain.minval, domain.maxval};
  }
  std::optional<ParzenAxis> operator()(const LogDomain& domain) const {
    if (domain.minval == domain.maxval) return std::nullopt;
    // By exponents: nearness is a matter of powers there.
    return ParzenAxis{Kind::kReal, domain.minval, domain.maxval};
  }
  std::optional<ParzenAxis> operator()(const CategoricalDomain& domain) const {
    return ParzenAxis{Kind::kCategory, 0, static_cast<double>(domain.vals.size() - 1)};
  }
};

/// The value at a coordinate of its axis.
struct ValueAt {
  double at;
  Json operator()(const ConstDomain& domain) const { return domain.val; }
  Json operator()(const IntDomain&) const { return std::llround(at); }
  Json operator()(const DoubleDomain& domain) const {
    return domain.minval == domain.maxval ? domain.minval : at;
  }
  Json operator()(const LogDomain& domain) const {
    return std::pow(domain.base, domain.minval == domain.maxval ? domain.minval : at);
  }
  Json operator()(const CategoricalDomain& domain) const {
    return domain.vals[static_cast<std::size_t>(at)];
  }
};

double uniform(const ParzenAxis& axis, Rng& rng) {
  if (axis.kind == ParzenAxis::Kind::kReal) return axis.low + rng.unit() * (axis.high - axis.low);
  return static_cast<double>(
      rng.between(static_cast<std::int64_t>(axis.low), static_cast<std::int64_t>(axis.high)));
}

/// How many trials count as the best.
std::size_t best_count(std::size_t finished) {
  return std::min<std::size_t>((finished + 9) / 10, 25);
}

}  // namespace

TpeMethod::TpeMethod(const TpeSearch& config, const HyperSpace& space) : config_(config) {
  for (const Hyperparameter& one : space) axes_.push_back(std::visit(AxisOf{}, one.domain));
}

std::optional<WantedRun> TpeMethod::next_run(SearchView& view) {
  if (counted_ >= config_.max_trials) return std::nullopt;
  ++counted_;
  const Point point =
      finished_.size() < config_.startup_trials ? random_point(view.rng) : best_point(view.rng);
  open_[view.next_trial] = point;
  WantedRun run;
  run.hparams = Json(Json::Object{});
  for (std::size_t i = 0; i < point.size(); ++i) {
    run.hparams.at(view.space[i].path) = std::visit(ValueAt{point[i]}, view.space[i].domain);
  }
  return run;
}

void TpeMethod::exited(TrialIndex trial, TrialExit exit, std::optional<double> metric,
                       std::vector<StopTrial>&) {
  const auto found = open_.find(trial);
  if (found == open_.end()) return;
  const bool is_senseless = exit == TrialExit::kInvalidHparams;
  if (is_senseless) --counted_;
  // A failure is a result: its neighbourhood should be avoided.
  const bool is_worst = exit == TrialExit::kErrored || is_senseless || !metric;
  const Finished result{trial, is_worst ? std::numeric_limits<double>::infinity() : *metric,
                        std::move(found->second)};
  // By trial and not by end: densities weigh older observations less.
  finished_.insert(std::ranges::lower_bound(finished_, trial, {}, &Finished::trial), result);
  open_.erase(found);
}

TpeMethod::Point TpeMethod::random_point(Rng& rng) const {
  Point point;
  for (const auto& axis : axes_) point.push_back(axis ? uniform(*axis, rng) : 0.0);
  return point;
}

/// Per dimension the candidate, drawn as the best are distributed, that the others are least likely
/// to have.
TpeMethod::Point TpeMethod::best_point(Rng& rng) const {
  std::vector<std::size_t> order(finished_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  // Stable: of equal results the earlier trials are the best.
  std::ranges::stable_sort(order, {}, [this](std::size_t i) { return finished_[i].metric; });
  std::vector<bool> is_best(finished_.size(), false);
  for (std::size_t i = 0; i < best_count(order.size()); ++i) is_best[order[i]] = true;
  Point point(axes_.size(), 0.0);
  for (std::size_t d = 0; d < axes_.size(); ++d) {
    if (!axes_[d]) continue;
    std::vector<double> best;
    std::vector<double> others;
    for (std::size_t i = 0; i < finished_.size(); ++i)
      (is_best[i] ? best : others).push_back(finished_[i].point[d]);
    // What trains counts as not among the best, so that its neighbourhood is not tried once more
    // before it is known. Source: the constant liar of Ginsbourger et al., 2010; Optuna,
    // constant_liar.
    for (const auto& [trial, open] : open_) others.push_back(open[d]);
    const ParzenEstimator good(*axes_[d], best);
    const ParzenEstimator bad(*axes_[d], others);
    double best_gain = -std::numeric_limits<double>::infinity();
    for (std::uint32_t i = 0; i < std::max(1U, config_.candidates); ++i) {
      const double value = good.draw(rng);
      // log(l(x) / g(x)).
      const double gain = good.log_density(value) - bad.log_density(value);
      if (gain <= best_gain) continue;
      best_gain = gain;
      point[d] = value;
    }
  }
  return point;
}

}  // namespace muster::search

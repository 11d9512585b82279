// A density over one axis: a mixture of normal kernels about the observations, cut off at the
// edges, and one broad kernel of the prior; for categories counts take the place of kernels.
// Everything that does not depend on the value asked for is worked out when it is made.

#include "search/parzen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace muster::search {
namespace {

// The prior weighs as much as one observation. Source: Optuna, prior_weight.
constexpr double kPriorWeight = 1.0;
constexpr double kFar = 9.0;         ///< deviations at which a kernel is below 1e-17 of its peak
constexpr std::size_t kRecent = 25;  ///< observations that weigh in full

double normal_mass(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

/// Of `count` observations and the prior behind them; they add up to 1.
std::vector<double> mixture_weights(std::size_t count) {
  std::vector<double> weights(count, 1.0);
  if (count >= kRecent) {
    // The oldest begin at 1/count and rise evenly to 1: what was observed long ago says less of
    // where good values lie. Source: Optuna, default_weights.
    const std::size_t ramp = count - kRecent;
    const double least = 1.0 / static_cast<double>(count);
    for (std::size_t i = 0; i < ramp; ++i) {
      const double share = ramp > 1 ? static_cast<double>(i) / static_cast<double>(ramp - 1) : 0.0;
      weights[i] = least + share * (1.0 - least);
    }
  }
  weights.push_back(kPriorWeight);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

/// Standard normal, by Box and Muller's method.
double draw_normal(Rng& rng) {
  // 1 - unit(): the logarithm of 0 is never asked for.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - rng.unit()));
  return radius * std::cos(2.0 * std::numbers::pi * rng.unit());
}

/// The place at which the weights, added up, pass a random share of them. Requires: they add up
/// to 1.
template <class Weights, class WeightOf>
std::size_t draw_place(const Weights& weights, WeightOf weight_of, Rng& rng) {
  double left = rng.unit();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    left -= weight_of(weights[i]);
    if (left < 0) return i;
  }
  // Rounding may leave a rest above the sum of all weights.
  return weights.size() - 1;
}

}  // namespace

ParzenEstimator::ParzenEstimator(const ParzenAxis& axis, const std::vector<double>& observations)
    : axis_(axis) {
  const std::vector<double> weights = mixture_weights(observations.size());
  if (axis.kind == ParzenAxis::Kind::kCategory) {
    add_category_weights(observations, weights);
  } else {
    add_normal_kernels(observations, weights);
  }
}

double ParzenEstimator::lower_edge() const {
  // A whole number stands for everything that is rounded to it.
  return axis_.kind == ParzenAxis::Kind::kWhole ? axis_.low - 0.5 : axis_.low;
}
double ParzenEstimator::upper_edge() const {
  return axis_.kind == ParzenAxis::Kind::kWhole ? axis_.high + 0.5 : axis_.high;
}

/// A kernel is as wide as the larger gap to its neighbours, within limits; the prior is as wide as
/// the axis.
void ParzenEstimator::add_normal_kernels(const std::vector<double>& observations,
                                         const std::vector<double>& weights) {
  const double low = lower_edge();
  const double high = upper_edge();
  const double width = high - low;
  std::vector<double> means = observations;
  means.push_back(low + width / 2);
  const std::size_t prior = observations.size();
  std::vector<std::size_t> order(means.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return means[i]; });
  // Never narrower than a hundredth of the axis, and with few observations less narrow still.
  // Source: Optuna, consider_magic_clip.
  const double least = width / std::min(100.0, 1.0 + static_cast<double>(means.size()));
  kernels_.resize(means.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::size_t i = order[place];
    const double below = place > 0 ? means[i] - means[order[place - 1]] : means[i] - low;
    const double above =
        place + 1 < order.size() ? means[order[place + 1]] - means[i] : high - means[i];
    double gap = std::max(below, above);
    // At both ends only the neighbour counts, not the edge. Source: Optuna's consider_endpoints,
    // off.
    if (order.size() >= 2 && place == 0) gap = above;
    if (order.size() >= 2 && place + 1 == order.size()) gap = below;
    const double deviation = i == prior ? width : std::clamp(gap, least, width);
    const double mass =
        normal_mass((high - means[i]) / deviation) - normal_mass((low - means[i]) / deviation);
    const double unit = axis_.kind == ParzenAxis::Kind::kWhole
                            ? 1.0
                            : deviation * std::sqrt(2.0 * std::numbers::pi);
    kernels_[i] = {weights[i], means[i], deviation, weights[i] / (mass * unit)};
  }
}

void ParzenEstimator::add_category_weights(const std::vector<double>& observations,
                                           const std::vector<double>& weights) {
  const auto count = static_cast<std::size_t>(axis_.high) + 1;
  // The prior's weight spread evenly over observations, so that no category has density 0.
  const double flat = kPriorWeight / static_cast<double>(weights.size());
  categories_.assign(count, 0.0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double total = flat * static_cast<double>(count) + (i < observations.size() ? 1.0 : 0.0);
    for (std::size_t c = 0; c < count; ++c) categories_[c] += weights[i] * flat / total;
    if (i < observations.size())
      categories_[static_cast<std::size_t>(observations[i])] += weights[i] / total;
  }
}

double ParzenEstimator::draw(Rng& rng) const {
  if (!categories_.empty())
    return static_cast<double>(draw_place(
        categories_, [](double share) { return share; }, rng));
  const Kernel& kernel = kernels_[draw_place(
      kernels_, [](const Kernel& one) { return one.weight; }, rng)];
  // A mean lies within the axis and a deviation is at most its width: more than one draw in three
  // is within.
  constexpr int kDrawMax = 100;
  double value = kernel.mean;
  for (int i = 0; i < kDrawMax; ++i) {
    value = kernel.mean + kernel.deviation * draw_normal(rng);
    if (value >= lower_edge() && value <= upper_edge()) break;
  }
  if (axis_.kind == ParzenAxis::Kind::kWhole) value = std::round(value);
  return std::clamp(value, axis_.low, axis_.high);
}

double ParzenEstimator::log_density(double value) const {
  if (!categories_.empty()) return std::log(categories_[static_cast<std::size_t>(value)]);
  double sum = 0;
  const bool is_whole = axis_.kind == ParzenAxis::Kind::kWhole;
  const double reach = is_whole ? 0.5 : 0.0;
  for (const Kernel& kernel : kernels_) {
    const double z = (value - kernel.mean) / kernel.deviation;
    const double half = reach / kernel.deviation;
    if (std::abs(z) > kFar + half) continue;
    sum += kernel.factor *
           (is_whole ? normal_mass(z + half) - normal_mass(z - half) : std::exp(-0.5 * z * z));
  }
  // Never the logarithm of 0: the difference of two densities is compared.
  return std::log(std::max(sum, std::numeric_limits<double>::min()));
}

}  // namespace muster::search

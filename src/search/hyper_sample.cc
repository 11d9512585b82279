// Draws and grid points of each kind of domain. The order in which chance is asked for belongs to
// the result: one number for each hyperparameter, in the order of the space.

#include "search/hyper_sample.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace muster::search {
namespace {

struct Sampler {
  Rng& rng;
  Json operator()(const ConstDomain& domain) const { return domain.val; }
  Json operator()(const IntDomain& domain) const {
    return rng.between(domain.minval, domain.maxval);
  }
  Json operator()(const DoubleDomain& domain) const {
    return domain.minval + rng.unit() * (domain.maxval - domain.minval);
  }
  Json operator()(const LogDomain& domain) const {
    // Even over the exponents: each power of the base is as likely as another.
    return std::pow(domain.base, domain.minval + rng.unit() * (domain.maxval - domain.minval));
  }
  Json operator()(const CategoricalDomain& domain) const {
    return domain.vals[rng.below(domain.vals.size())];
  }
};

/// `count` points from low to high, both included; one is the middle.
std::vector<double> spread(double low, double high, std::uint32_t count) {
  if (count == 1) return {low + (high - low) / 2};
  std::vector<double> points;
  for (std::uint32_t i = 0; i < count; ++i) points.push_back(low + i * (high - low) / (count - 1));
  return points;
}

struct GridAxis {
  std::vector<Json> operator()(const ConstDomain& domain) const { return {domain.val}; }
  std::vector<Json> operator()(const CategoricalDomain& domain) const { return domain.vals; }
  std::vector<Json> operator()(const IntDomain& domain) const {
    CHECK(domain.count, "a grid needs counts");
    // No value twice where more points are asked for than there are whole numbers.
    const auto all = static_cast<std::uint64_t>(domain.maxval - domain.minval) + 1;
    const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(*domain.count, all));
    std::vector<Json> values;
    for (const double offset :
         spread(0, static_cast<double>(domain.maxval - domain.minval), count)) {
      // The middle of a range of even length is rounded down, other points to the nearest.
      values.emplace_back(domain.minval +
                          (count == 1 ? static_cast<std::int64_t>(offset) : std::llround(offset)));
    }
    return values;
  }
  std::vector<Json> operator()(const DoubleDomain& domain) const {
    CHECK(domain.count, "a grid needs counts");
    const auto points = spread(domain.minval, domain.maxval, *domain.count);
    return {points.begin(), points.end()};
  }
  std::vector<Json> operator()(const LogDomain& domain) const {
    CHECK(domain.count, "a grid needs counts");
    std::vector<Json> values;
    for (const double exponent : spread(domain.minval, domain.maxval, *domain.count)) {
      values.emplace_back(std::pow(domain.base, exponent));
    }
    return values;
  }
};

}  // namespace

Json sample_value(const HyperDomain& domain, Rng& rng) { return std::visit(Sampler{rng}, domain); }

Json sample(const HyperSpace& space, Rng& rng) {
  Json result{Json::Object{}};
  for (const Hyperparameter& one : space) result.at(one.path) = sample_value(one.domain, rng);
  return result;
}

std::vector<Json> grid_values(const HyperDomain& domain) { return std::visit(GridAxis{}, domain); }

Grid::Grid(const HyperSpace& space) : space_(space) {
  for (const Hyperparameter& one : space) {
    axes_.push_back(grid_values(one.domain));
    // More points than 64 bits count are as many as there are: nobody reaches them.
    if (__builtin_mul_overflow(size_, std::uint64_t{axes_.back().size()}, &size_))
      size_ = UINT64_MAX;
  }
}

Json Grid::point(std::uint64_t index) const {
  CHECK(index < size_, "no such point of the grid");
  std::vector<std::size_t> places(axes_.size());
  // The last axis changes fastest: the index read as digits of mixed base.
  for (std::size_t i = axes_.size(); i-- > 0;) {
    places[i] = index % axes_[i].size();
    index /= axes_[i].size();
  }
  Json result{Json::Object{}};
  for (std::size_t i = 0; i < axes_.size(); ++i) result.at(space_[i].path) = axes_[i][places[i]];
  return result;
}

}  // namespace muster::search

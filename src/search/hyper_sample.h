// Draws hyperparameters from their domains: at random, and point by point on a grid.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "model/hyperparameter.h"
#include "model/json.h"

namespace muster::search {

/// Draws one value of the domain at random.
Json sample_value(const HyperDomain& domain, Rng& rng);
/// Draws all hyperparameters at random, nested as their paths say. Determinism: one draw per
/// varying dimension, in the space's order.
Json sample(const HyperSpace& space, Rng& rng);

/// Returns the grid's values of a dimension. Shape: rising; whole numbers without repetition.
/// Requires: a count, unless the domain is const or categorical. Source: Determined 0.38, "Grid":
/// both ends included, one point is the middle.
std::vector<Json> grid_values(const HyperDomain& domain);

/// All points of a space, by number. Lifetime: the space outlives it.
class Grid {
 public:
  explicit Grid(const HyperSpace& space);
  /// Returns the number of points; 2^64 - 1 for that many or more.
  std::uint64_t size() const { return size_; }
  /// The point of that number: the last dimension changes fastest. Requires: index < size().
  Json point(std::uint64_t index) const;

 private:
  const HyperSpace& space_;
  std::vector<std::vector<Json>> axes_;  ///< the values of each dimension
  std::uint64_t size_ = 1;
};

}  // namespace muster::search

// Parzen estimators of one hyperparameter: a mixture of one kernel per observation and a flat
// prior. Source: Bergstra, Bardenet, Bengio, Kegl: Algorithms for hyper-parameter optimization,
// NIPS 2011, section 4; bandwidths, weights and clipping as in Optuna 3.1's univariate default.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"

namespace muster::search {

/// The line on which values of a dimension lie: exponents for a log domain, indices for a
/// categorical one.
struct ParzenAxis {
  enum class Kind : std::uint8_t { kReal = 0, kWhole = 1, kCategory = 2 };
  Kind kind = Kind::kReal;
  double low = 0;   ///< categories: 0
  double high = 1;  ///< categories: their number less one
};

class ParzenEstimator {
 public:
  /// Estimates from observations. Shape: `observations` in the order of trials, oldest first;
  /// beyond 25 the older ones weigh less.
  ParzenEstimator(const ParzenAxis& axis, const std::vector<double>& observations);

  double draw(Rng& rng) const;
  /// Returns the logarithm of the density, or of the mass for whole numbers and categories.
  double log_density(double value) const;

 private:
  struct Kernel {
    double weight = 0;
    double mean = 0;
    double deviation = 1;
    double factor = 0;  ///< weight over the mass within the axis, of a real axis also over
                        ///< deviation · sqrt(2 pi)
  };
  void add_normal_kernels(const std::vector<double>& observations,
                          const std::vector<double>& weights);
  void add_category_weights(const std::vector<double>& observations,
                            const std::vector<double>& weights);
  double lower_edge() const;
  double upper_edge() const;

  ParzenAxis axis_;
  std::vector<Kernel> kernels_;
  std::vector<double> categories_;  ///< probabilities
};

}  // namespace muster::search

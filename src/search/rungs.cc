#include "search/rungs.h"

#include <cmath>

namespace muster::search {

std::vector<std::uint64_t> rung_units(std::uint32_t num_rungs, std::uint64_t max_time,
                                      double divisor) {
  std::vector<std::uint64_t> units(num_rungs);
  for (std::uint32_t i = 0; i < num_rungs; ++i) {
    // From the top down, max_time / divisor^k, so that the highest rung is exact.
    const double whole = static_cast<double>(max_time) / std::pow(divisor, num_rungs - 1 - i);
    // At least one unit: with many rungs the lowest would be at 0, before any training.
    units[i] = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(whole));
  }
  return units;
}

std::uint32_t whole_log(double value, double divisor) {
  std::uint32_t n = 0;
  // By multiplication: log(1000) / log(10) need not be 3 in floating point.
  for (double power = divisor; power <= value; power *= divisor) ++n;
  return n;
}

std::uint32_t halving_concurrency(const AsyncHalving& config) {
  // So many begin for each one that reaches the top.
  const double first = std::pow(config.divisor, config.num_rungs - 1);
  return static_cast<std::uint32_t>(std::clamp(first, 1.0, static_cast<double>(config.max_trials)));
}

}  // namespace muster::search

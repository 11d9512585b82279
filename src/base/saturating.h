// Products that stop at the largest number instead of wrapping around: a request for more than
// anybody has must not become one for little.
#pragma once

#include <cstdint>
#include <limits>

namespace muster {

/// `amount` times `count`, or the largest number of the type where the product is beyond it.
/// Requires: neither is below zero; not checked.
constexpr std::int64_t saturating_product(std::int64_t amount, std::int64_t count) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(amount, count, &product) ? std::numeric_limits<std::int64_t>::max()
                                                         : product;
}
constexpr std::uint64_t saturating_product(std::uint64_t amount, std::uint64_t count) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(amount, count, &product) ? std::numeric_limits<std::uint64_t>::max()
                                                         : product;
}

}  // namespace muster

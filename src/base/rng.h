// A small seeded source of chance, the same on every machine: what a simulation or a search draws
// from is decided by its seed alone, which the standard library's distributions do not promise.
#pragma once

#include <cstdint>

#include "base/check.h"

namespace muster {

/// A stream of numbers; each call below consumes one of them, between() included. Not for secrets.
/// Source: SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA
/// 2014).
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}
  /// The seed of an Rng that continues from here: for saving and restoring.
  std::uint64_t state() const { return state_; }

  /// 64 random bits.
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// A whole number in [0, bound). Requires: bound > 0. The bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) {
    CHECK(bound > 0);
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
  }
  /// A whole number in [low, high]. Requires: low <= high.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    CHECK(low <= high);
    // The distance is unsigned, because that of two numbers may be more than a signed one holds.
    const auto first = static_cast<std::uint64_t>(low);
    const std::uint64_t distance = static_cast<std::uint64_t>(high) - first;
    const std::uint64_t step = distance == UINT64_MAX ? next() : below(distance + 1);
    return static_cast<std::int64_t>(first + step);
  }
  /// A number in [0, 1) with 53 random bits.
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  /// True with the given probability (0..1).
  bool chance(double probability) { return unit() < probability; }

 private:
  std::uint64_t state_;
};

}  // namespace muster

// A 64-bit hash for state comparison: quick, equal on every host, not for secrets or hostile input.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace muster {

/// Hashes a sequence of values; equal sequences have equal digests on every machine and in every
/// version, because digests are stored. A number counts by its value and not by its type; a text
/// counts with its length, so {"ab", "c"} and {"a", "bc"} differ. Cost: a few ns for a number, and
/// for every eight bytes of a text.
class Hasher {
 public:
  template <class T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>) Hasher& add(T value) {
    mix(static_cast<std::uint64_t>(value));
    return *this;
  }
  Hasher& add(std::string_view text) {
    mix(text.size());
    std::uint64_t word = 0;
    int shift = 0;
    for (const char c : text) {
      word |= static_cast<std::uint64_t>(static_cast<unsigned char>(c)) << shift;
      shift += 8;
      if (shift == 64) {
        mix(word);
        word = 0;
        shift = 0;
      }
    }
    if (shift != 0) mix(word);
    return *this;
  }
  /// Returns the digest of what was added so far; more may be added afterwards.
  std::uint64_t digest() const {
    std::uint64_t z = state_;
    z = (z ^ (z >> 33)) * 0xff51afd7ed558ccdULL;
    z = (z ^ (z >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return z ^ (z >> 33);
  }

 private:
  void mix(std::uint64_t value) {
    state_ = std::rotl(state_ ^ (value * 0x9e3779b97f4a7c15ULL), 27) * 0x3c79ac492ba7b653ULL +
             0x1c69b3f74ac4ae35ULL;
  }
  std::uint64_t state_ = 0x6d75737465720001ULL;
};

/// The hash that a table has added to its sum for this object, stored in the object so that the sum
/// can be updated in O(1). It is not part of the object's value, and 0 outside a table.
struct CachedHash {
  std::uint64_t value = 0;
};

}  // namespace muster

// Bloom filter: k = 2 hashes, m = 8 bits for each of n different trigrams, p = (1 - e^(-kn/m))^k =
// 5 %. Trigrams are of bytes with ASCII letters folded, so that one filter serves searches with and
// without case.
#include "store/logs/trigram_filter.h"

#include <vector>

namespace muster::logs {
namespace {

constexpr std::size_t kBitsPerTrigram = 8;

std::uint32_t folded(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 'A' && byte <= 'Z' ? byte + std::uint32_t{'a' - 'A'} : byte;
}

/// The two bits of a trigram, of `count`.
struct BitPair {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};
BitPair bits_of(std::uint32_t trigram, std::uint64_t count) {
  // Two mixes in the manner of SplitMix64; the upper halves scaled to the number of bits by a
  // multiplication instead of a division.
  const std::uint64_t mixed = (trigram + std::uint64_t{1}) * 0x9e3779b97f4a7c15ULL;
  const std::uint64_t other = (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9ULL;
  return {((mixed >> 32) * count) >> 32, ((other >> 32) * count) >> 32};
}

void set(std::string& bits, std::uint64_t bit) {
  bits[bit / 8] = static_cast<char>(static_cast<unsigned char>(bits[bit / 8]) | (1U << (bit % 8)));
}
bool is_set(std::string_view bits, std::uint64_t bit) {
  return ((static_cast<unsigned char>(bits[bit / 8]) >> (bit % 8)) & 1U) != 0;
}

/// Two characters that are no ASCII equal `k` and `s` where case is ignored: a text with one is
/// searched always.
// U+212A KELVIN SIGN and U+017F LATIN SMALL LETTER LONG S.
bool has_odd_case(std::string_view text) {
  return text.find("\xe2\x84\xaa") != std::string_view::npos ||
         text.find("\xc5\xbf") != std::string_view::npos;
}

}  // namespace

std::string TrigramFilter::of(std::string_view text) {
  // No filter: every search reads the chunk.
  if (has_odd_case(text)) return {};
  std::vector<std::uint64_t> seen(std::size_t{1} << 18);  // a bit for each of 2^24
  std::vector<std::uint32_t> trigrams;
  std::uint32_t last = 0;
  std::size_t length = 0;
  for (const char c : text) {
    // A line feed ends the run of bytes: a search never spans two lines.
    length = c == '\n' ? 0 : length + 1;
    last = ((last << 8) | folded(c)) & 0xffffffU;
    const std::uint64_t bit = std::uint64_t{1} << (last % 64);
    if (length < 3 || (seen[last / 64] & bit) != 0) continue;
    seen[last / 64] |= bit;
    trigrams.push_back(last);
  }
  // Rounded up, and 64 bits at least, so that a filter of few trigrams is not full.
  std::string bits((trigrams.size() * kBitsPerTrigram + 7) / 8 + 8, '\0');
  for (const std::uint32_t trigram : trigrams) {
    const BitPair pair = bits_of(trigram, bits.size() * 8);
    set(bits, pair.first);
    set(bits, pair.second);
  }
  return bits;
}

bool TrigramFilter::may_hold(std::string_view text) const {
  if (bits_.empty()) return true;
  std::uint32_t last = 0;
  std::size_t length = 0;
  for (const char c : text) {
    // Single bytes of other letters are folded by no rule: trigrams with one are not asked for.
    length = static_cast<unsigned char>(c) >= 0x80 ? 0 : length + 1;
    last = ((last << 8) | folded(c)) & 0xffffffU;
    if (length < 3) continue;
    const BitPair pair = bits_of(last, bits_.size() * 8);
    if (!is_set(bits_, pair.first) || !is_set(bits_, pair.second)) return false;
  }
  return true;
}

}  // namespace muster::logs

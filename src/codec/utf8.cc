#include "codec/utf8.h"

#include <cstdint>

namespace muster {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

bool is_between(char c, unsigned low, unsigned high) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= low && byte <= high;
}

/// Bytes of the character that a text begins with; 0: it begins with none.
std::size_t character_size(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  // The second byte's range keeps out what is too long, surrogates, and what is beyond U+10FFFF.
  const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (!is_between(text[1], low, high)) return 0;
  for (std::size_t i = 2; i < size; ++i) {
    if (!is_between(text[i], 0x80, 0xbf)) return 0;
  }
  return size;
}

}  // namespace

std::string valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t size = character_size(bytes);
    out += size == 0 ? kReplacement : bytes.substr(0, size);
    bytes.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

}  // namespace muster

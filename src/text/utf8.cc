#include "text/utf8.h"

#include <cstdint>

namespace muster {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

bool is_between(char c, unsigned low, unsigned high) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= low && byte <= high;
}

}  // namespace

std::size_t utf8_character_size(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  // 0x80 to 0xbf continue a character; 0xc0 and 0xc1 would begin ASCII in two bytes; beyond 0xf4
  // lies nothing.
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

bool is_plain_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = utf8_character_size(text);
    if (size == 0) return false;
    // U+0080 to U+009F.
    const bool is_c1 = size == 2 && text[0] == '\xc2' && is_between(text[1], 0x80, 0x9f);
    // U+2028 to U+202E, U+2066 to U+2069.
    const bool is_turn = size == 3 && text[0] == '\xe2' &&
                         ((text[1] == '\x80' && is_between(text[2], 0xa8, 0xae)) ||
                          (text[1] == '\x81' && is_between(text[2], 0xa6, 0xa9)));
    if (is_c1 || is_turn) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string_view utf8_prefix(std::string_view text, std::size_t size_max) {
  if (text.size() <= size_max) return text;
  // A character has at most three bytes behind its first.
  std::size_t end = size_max;
  while (end > 0 && size_max - end < 3 && is_between(text[end], 0x80, 0xbf)) --end;
  return text.substr(0, end);
}

std::string valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t size = utf8_character_size(bytes);
    out += size == 0 ? kReplacement : bytes.substr(0, size);
    // One byte at a time: a good character may begin right behind a bad byte.
    bytes.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

}  // namespace muster

// Works character by character, since a well-formed character of several bytes is shown or escaped
// as a whole.

#include "text/printable_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/utf8.h"

namespace muster {
namespace {

// C0 and DEL; those of C1 have two bytes in UTF-8, and is_plain_utf8 knows them.
bool is_control(unsigned char c) { return c < 0x20 || c == 0x7f; }

}  // namespace

bool is_printable(std::string_view text) {
  return std::ranges::none_of(text, is_control) && is_plain_utf8(text);
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    // A byte that begins no character is escaped alone.
    const std::size_t size = std::max<std::size_t>(utf8_character_size(text), 1);
    const std::string_view character = text.substr(0, size);
    text.remove_prefix(size);
    if (is_printable(character)) {
      shown += character;
    } else if (character == "\n") {
      shown += "\\n";
    } else if (character == "\t") {
      shown += "\\t";
    } else {
      for (const char c : character)
        shown += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  return shown;
}

std::string printable_lines(std::string_view text) {
  std::string shown;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    shown += printable(text.substr(begin, end - begin));
    if (end < text.size()) shown += '\n';
    begin = end + 1;
  }
  return shown;
}

}  // namespace muster

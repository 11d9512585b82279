#include "codec/printable_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace muster {
namespace {

bool is_control(unsigned char c) { return c < 0x20 || c == 0x7f; }

}  // namespace

bool is_printable(std::string_view text) { return std::ranges::none_of(text, is_control); }

std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    if (!is_control(static_cast<unsigned char>(c))) {
      shown += c;
    } else if (c == '\n') {
      shown += "\\n";
    } else if (c == '\t') {
      shown += "\\t";
    } else {
      shown += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  return shown;
}

}  // namespace muster

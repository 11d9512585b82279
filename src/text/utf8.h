// Bytes of any origin as UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// Returns the text with U+FFFD in place of each byte that is no part of a well-formed character
/// (Unicode 15, table 3-7).
std::string valid_utf8(std::string_view bytes);

/// Returns the bytes of the well-formed character that a text begins with; 0: it begins with none.
/// Requires: not empty.
std::size_t utf8_character_size(std::string_view text);

/// Returns the longest beginning of a text that has at most `size_max` bytes and ends behind a
/// character, not within one. Of what is no UTF-8 at all some bytes more may be left out.
std::string_view utf8_prefix(std::string_view text, std::size_t size_max);

/// True when people and programs see the text as it is: it is well-formed, without control
/// characters of C1 (U+0080 to U+009F), which some terminals obey, and without separators of lines
/// or marks that turn the direction of what follows (U+2028 to U+202E, U+2066 to U+2069). It says
/// nothing of ASCII.
bool is_plain_utf8(std::string_view text);

}  // namespace muster

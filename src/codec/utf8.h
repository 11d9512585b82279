// Bytes of any origin as UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// The text with U+FFFD in place of each byte that is no part of a well-formed character (Unicode 15, table 3-7).
std::string valid_utf8(std::string_view bytes);

}  // namespace muster

// Bytes as text in 64 characters (RFC 4648 sections 4 and 5).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

/// Encodes with + and /, padded with =.
std::string base64_text(std::string_view bytes);
/// Encodes with - and _, not padded: for tokens and addresses.
std::string base64url_text(std::string_view bytes);
/// Reads either alphabet, padded or not. Errors: kInvalidArgument.
Result<std::string> parse_base64(std::string_view text);

}  // namespace muster

// Content addresses. This is the one file that wraps libcrypto's digests.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// Returns the SHA-256 of the bytes: 32 bytes, not text.
std::string sha256(std::string_view bytes);

}  // namespace muster

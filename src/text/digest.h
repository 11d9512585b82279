// Content addresses. The wrapping file of libcrypto.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// SHA-256 of the bytes: 32 bytes, not text.
std::string sha256(std::string_view bytes);

}  // namespace muster

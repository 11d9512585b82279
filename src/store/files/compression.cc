// A block is a byte that says its form, and the bytes: zstd, or as they are where that is no
// longer.
#include "store/files/compression.h"

#include <zstd.h>

#include <memory>

#include "base/check.h"

namespace muster {
namespace {

constexpr char kPlain = 0;
constexpr char kZstd = 1;

/// Contexts are some 100 KiB and take longer to make than a small block to compress: one a thread,
/// for its whole life.
ZSTD_CCtx* compressor() {
  thread_local const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> kContext(
      ZSTD_createCCtx(), &ZSTD_freeCCtx);
  CHECK(kContext != nullptr, "no memory to compress");
  return kContext.get();
}

ZSTD_DCtx* decompressor() {
  thread_local const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> kContext(
      ZSTD_createDCtx(), &ZSTD_freeDCtx);
  CHECK(kContext != nullptr, "no memory to decompress");
  return kContext.get();
}

}  // namespace

std::string compressed(std::string_view bytes, int level) {
  std::string result(1 + ZSTD_compressBound(bytes.size()), kZstd);
  const std::size_t size = ZSTD_compressCCtx(compressor(), result.data() + 1, result.size() - 1,
                                             bytes.data(), bytes.size(), level);
  // Also where zstd refuses: a block can always be stored.
  if (ZSTD_isError(size) != 0 || size >= bytes.size()) return std::string(1, kPlain).append(bytes);
  result.resize(1 + size);
  return result;
}

Result<std::string> decompressed(std::string_view bytes, std::size_t size_max) {
  if (bytes.empty()) return fail(ErrorCode::kCorruption, "a stored block is empty");
  const std::string_view content = bytes.substr(1);
  if (bytes[0] != kPlain && bytes[0] != kZstd)
    return fail(ErrorCode::kCorruption, "a stored block has an unknown form");
  // Errors and unknown sizes are huge numbers here, and refused by the bound below.
  const unsigned long long size = bytes[0] == kPlain
                                      ? content.size()
                                      : ZSTD_getFrameContentSize(content.data(), content.size());
  if (size > size_max)
    return fail(ErrorCode::kCorruption, "a stored block is damaged", "its length is not credible");
  if (bytes[0] == kPlain) return std::string(content);
  std::string result(static_cast<std::size_t>(size), '\0');
  const std::size_t found = ZSTD_decompressDCtx(decompressor(), result.data(), result.size(),
                                                content.data(), content.size());
  // The frame says its length itself: fewer bytes are damage as well.
  if (ZSTD_isError(found) != 0 || found != result.size()) {
    return fail(ErrorCode::kCorruption, "a stored block is damaged",
                ZSTD_isError(found) != 0 ? ZSTD_getErrorName(found) : "too short");
  }
  return result;
}

}  // namespace muster

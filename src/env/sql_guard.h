// SQL through SOCI: its exceptions become errors here and nowhere else.
#pragma once

#include <soci/soci.h>

#include <string>

#include "base/result.h"

namespace muster {

/// Runs `work`, which uses SOCI. Errors: kUnavailable (disk full, I/O, busy) or kCorruption, with
/// SQLite's words. Cause kNoRoom: the disk is full, or gave the I/O error that SQLite has for a
/// log that cannot grow.
template <class Work>
Status sql_guard(Work&& work) {
  try {
    work();
    return {};
  } catch (const soci::soci_error& error) {
    const std::string text = error.what();
    const bool is_damage = text.find("malformed") != std::string::npos ||
                           text.find("not a database") != std::string::npos;
    const bool is_full = text.find("disk is full") != std::string::npos;
    const bool is_no_room = is_full || text.find("disk I/O") != std::string::npos;
    return fail(is_damage ? ErrorCode::kCorruption : ErrorCode::kUnavailable,
                is_no_room ? ErrorCause::kNoRoom : ErrorCause::kNone,
                is_full ? "the controller's disk is full" : "database refused",
                is_full ? text + "; make room where its StateSaveLocation is" : text);
  }
}

/// Bytes in and out of a SOCI blob.
inline void put_bytes(soci::blob& blob, std::string_view bytes) {
  blob.trim(0);
  if (!bytes.empty()) blob.write(0, bytes.data(), bytes.size());
}
inline std::string take_bytes(soci::blob& blob) {
  std::string bytes(blob.get_len(), '\0');
  if (!bytes.empty()) blob.read(0, bytes.data(), bytes.size());
  return bytes;
}

}  // namespace muster

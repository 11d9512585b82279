// SQL through SOCI: its exceptions become errors here and nowhere else.
#pragma once

#include <soci/soci.h>

#include <string>

#include "base/result.h"

namespace muster {

/// Runs `work`, which uses SOCI, to its end or to its first SOCI exception; other exceptions pass
/// through. What was done before it is not rolled back here. Errors: kCorruption when SQLite calls
/// the file malformed or no database, else kUnavailable (disk full, I/O, busy), with SQLite's
/// words. Cause kNoRoom: the disk is full, or gave an I/O error, which is what SQLite says for a
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

/// Bytes in and out of a SOCI blob, as a whole. Requires: called within sql_guard(), because they
/// throw.
inline void put_bytes(soci::blob& blob, std::string_view bytes) {
  blob.trim(0);
  if (!bytes.empty()) blob.write(0, bytes.data(), bytes.size());
}
inline std::string get_bytes(soci::blob& blob) {
  std::string bytes(blob.get_len(), '\0');
  if (!bytes.empty()) blob.read(0, bytes.data(), bytes.size());
  return bytes;
}

}  // namespace muster

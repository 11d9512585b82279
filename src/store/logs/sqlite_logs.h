// Logs on SQLite: one database file. Format and why it is so: docs/internals/log_store.md.
#pragma once

#include <memory>
#include <string>

#include "store/logs/log_store.h"

namespace muster {

struct SqliteLogOptions {
  std::string path;
  /// The bounds of the lines that wait in memory to be compressed, over all owners, and of what the
  /// log holds of them; both approximate. They decide how long opening takes after a crash.
  std::size_t open_bytes_max = std::size_t{32} << 20;
  std::size_t log_bytes_max = std::size_t{32} << 20;
  /// How many owners stay in memory without such lines.
  std::size_t cached_owners_max = 256;
};

/// Opens or creates the file; a second process or object must not open it for writing. Errors:
/// kFailedPrecondition when it has a newer format (the message names both).
Result<std::unique_ptr<LogStore>> open_sqlite_logs(const SqliteLogOptions& options);

}  // namespace muster

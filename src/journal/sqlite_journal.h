// The journal on SQLite: one row per batch, blobs beside them, checkpoints in slices; batches,
// slices and blobs carry digests. Format: docs/internals/journal.md.
#pragma once

#include <memory>
#include <string>

#include "journal/journal.h"

namespace muster {

struct SqliteJournalOptions {
  std::string path;
  bool is_read_only = false;  ///< to look beside a controller that writes, at what is stored now:
                              ///< acquires no lock that it would wait for
};

/// Opens or creates the file; one of an older format is brought to this one. Errors:
/// kFailedPrecondition when the file has a newer format, or an older one and is only to be read
/// (the message names both).
Result<std::unique_ptr<Journal>> open_sqlite_journal(const SqliteJournalOptions& options);

}  // namespace muster

// History on SQLite. Every row carries a digest; those written before there were digests are
// believed as they are. Format: docs/internals/history.md.
#pragma once

#include <memory>
#include <string>

#include "store/history/history_store.h"

namespace muster {

/// Opens or creates the file. Errors: kFailedPrecondition when it has a newer format (the message
/// names both).
Result<std::unique_ptr<HistoryStore>> open_sqlite_history(const std::string& path);
/// Opens the file to read beside its writer. Errors: also kNotFound where there is none.
Result<std::unique_ptr<HistoryStore>> open_sqlite_history_to_read(const std::string& path);

}  // namespace muster

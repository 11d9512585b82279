// History on SQLite. Every row carries a digest; those written before there were digests are
// believed as they are. Format: docs/internals/history.md.
#pragma once

#include <memory>
#include <string>

#include "store/history/history_store.h"

namespace muster {

/// Opens or creates. Errors: kFailedPrecondition when the file has a newer format (the message
/// names both).
Result<std::unique_ptr<HistoryStore>> open_sqlite_history(const std::string& path);
/// To read beside the one who writes. Errors: also kNotFound where there is none.
Result<std::unique_ptr<HistoryStore>> open_sqlite_history_to_read(const std::string& path);

}  // namespace muster

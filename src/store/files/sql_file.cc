// SOCI speaks to SQLite; what it throws is caught by sql_guard. Settings of a file are those of its
// first opening (page size) or of each connection (the others).
#include "store/files/sql_file.h"

#include <soci/sqlite3/soci-sqlite3.h>

#include "env/sql_guard.h"

namespace muster {

std::string sqlite_connection(const std::string& path) {
  // Units: seconds that a locked file is waited for.
  return "dbname=\"" + path + "\" timeout=10";
}

Status prepare_sql_file(soci::session& session, const SqlFileForm& form) {
  int format = 0;
  TRY(sql_guard([&] {
    std::string mode;
    session << "PRAGMA page_size=" + std::to_string(form.page_bytes);
    // Readers do not wait for the writer, and a commit is one sync.
    session << "PRAGMA journal_mode=WAL", soci::into(mode);
    session << "PRAGMA synchronous=FULL";
    session << "PRAGMA cache_size=-" + std::to_string(form.cache_kib);
    int has_meta = 0;
    session << "SELECT COUNT(*) FROM sqlite_master WHERE name = 'meta'", soci::into(has_meta);
    if (has_meta != 0)
      session << "SELECT value FROM meta WHERE name = 'format'", soci::into(format);
    // A file that has a format is checked below and left as it is otherwise.
    if (format != 0) return;
    // Whole or not at all: a crash leaves a file without a format, which is made anew.
    soci::transaction transaction(session);
    for (const char* statement : form.schema) session << statement;
    transaction.commit();
  }));
  if (format <= form.format) return {};
  return fail(ErrorCode::kFailedPrecondition, form.name + " has format " + std::to_string(format),
              "this version reads up to " + std::to_string(form.format) +
                  "; start the version that wrote it");
}

struct SqlTransaction::Open {
  explicit Open(soci::session& session) : transaction(session) {}
  soci::transaction transaction;
};

SqlTransaction::SqlTransaction(soci::session& session) : session_(session) {}
SqlTransaction::~SqlTransaction() = default;

Status SqlTransaction::begin() {
  return sql_guard([&] { open_ = std::make_unique<Open>(session_); });
}

Status SqlTransaction::commit() {
  return sql_guard([&] { open_->transaction.commit(); });
}

}  // namespace muster

// Opens a store's database file, and runs transactions on it. Format numbers are checked here,
// once.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace soci {
class session;
}

namespace muster {

struct SqlFileForm {
  std::string name;  ///< for messages, e.g. "metric store"
  int format = 1;
  std::span<const char* const>
      schema;  ///< statements that make an empty file, with a row 'format' in the table meta
  int page_bytes = 4096;
  int cache_kib = 16384;
};

/// Returns the connection string with which a session is opened.
std::string sqlite_connection(const std::string& path);
/// Makes an empty file, or checks what is there. WAL, every commit synced.
/// Errors: kFailedPrecondition when the file has a newer format, which leaves it as it is;
/// kUnavailable, kCorruption.
Status prepare_sql_file(soci::session& session, const SqlFileForm& form);

/// A transaction lasts until commit() or the end of the object's life, which rolls back what was
/// not committed.
class SqlTransaction {
 public:
  explicit SqlTransaction(soci::session& session);
  ~SqlTransaction();
  SqlTransaction(const SqlTransaction&) = delete;
  SqlTransaction& operator=(const SqlTransaction&) = delete;
  Status begin();
  /// Commits; durable on return.
  Status commit();

 private:
  struct Open;
  soci::session& session_;
  std::unique_ptr<Open> open_;
};

}  // namespace muster

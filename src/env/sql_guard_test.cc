// What SQLite refuses becomes an error by which a caller can act.
#include "env/sql_guard.h"

#include <gtest/gtest.h>
#include <soci/sqlite3/soci-sqlite3.h>

namespace muster {
namespace {

TEST(SqlGuard, AFullDatabaseIsALackOfRoom) {
  soci::session sql(soci::sqlite3, ":memory:");
  sql << "PRAGMA max_page_count = 8";
  sql << "CREATE TABLE t (b BLOB)";
  const Status full = sql_guard([&] { sql << "INSERT INTO t VALUES (zeroblob(1000000))"; });
  ASSERT_FALSE(full.has_value());
  EXPECT_EQ(full.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(full.error().cause, ErrorCause::kNoRoom);
}

TEST(SqlGuard, AnotherRefusalIsNone) {
  soci::session sql(soci::sqlite3, ":memory:");
  const Status wrong = sql_guard([&] { sql << "SELECT * FROM nothing"; });
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().cause, ErrorCause::kNone);
}

}  // namespace
}  // namespace muster

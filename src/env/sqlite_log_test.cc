#include "env/sqlite_log.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace muster {
namespace {

/// A connection to a real file whose log is left behind.
struct Database {
  explicit Database(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &connection), SQLITE_OK);
    run("PRAGMA journal_mode=WAL");
    run("PRAGMA wal_autocheckpoint=0");
  }
  ~Database() { sqlite3_close(connection); }
  void run(const char* statement) {
    EXPECT_EQ(sqlite3_exec(connection, statement, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(connection);
  }
  sqlite3* connection = nullptr;
};

std::string whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(RewriteLog, ALogOfAnySizeIsWrittenByteForByte) {
  char folder[] = "/tmp/sqlite-log-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/some.db";
  EXPECT_TRUE(rewrite_log(path).has_value()) << "there is none yet";
  {
    Database written(path);
    written.run("CREATE TABLE t (bytes BLOB)");
    for (int i = 0; i < 7; ++i) written.run("INSERT INTO t VALUES (randomblob(100000))");
    const std::string copy = path + ".copy";
    std::filesystem::copy_file(path + "-wal", copy);
    ASSERT_GT(std::filesystem::file_size(copy), 500'000U);
    const Status rewritten = rewrite_log(path);
    ASSERT_TRUE(rewritten.has_value()) << rewritten.error().text();
    EXPECT_EQ(whole(path + "-wal"), whole(copy));
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace muster

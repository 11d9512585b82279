// What an open log store holds in memory. All of it follows from the file; after a refused write it
// is made anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "store/logs/owner_log.h"
#include "store/logs/sqlite_logs.h"

namespace muster {

/// One open file.
class SqliteLogStore final : public LogStore {
 public:
  explicit SqliteLogStore(SqliteLogOptions options);
  ~SqliteLogStore() override;
  SqliteLogStore(const SqliteLogStore&) = delete;
  SqliteLogStore& operator=(const SqliteLogStore&) = delete;

  /// Reads what is stored. The other methods call it where a refused write has made it necessary.
  Status ready();

  Result<std::vector<std::uint64_t>> append(const std::vector<LogFragment>& fragments) override;
  Result<LogPage> read(const LogQuery& query) override;
  Result<std::vector<LogLine>> unfinished_lines(LogOwner owner) override;
  Result<std::vector<LogStreamState>> streams(LogOwner owner) override;
  Result<LogTail> tail(const LogStreamId& id) override;
  Result<std::vector<LogSize>> sizes() override;
  Status delete_owner(LogOwner owner) override;
  Result<bool> delete_before(TimePoint time, std::uint32_t chunks_max) override;
  Result<bool> sweep(std::uint32_t chunks_max) override;
  Result<bool> compact(std::size_t bytes) override;
  std::size_t waiting_bytes() const override;

 private:
  struct State;
  Status replay();
  Status seal_some(std::size_t bytes_least);
  SqliteLogOptions options_;
  std::unique_ptr<State> state_;
  bool needs_reload_ = true;
};

struct SqliteLogStore::State {
  explicit State(std::unique_ptr<logs::LogTables> opened) : tables(std::move(opened)) {}

  struct Entry {
    std::unique_ptr<logs::OwnerLog> log;
    std::list<LogOwner>::iterator use;
  };
  struct Record {
    std::uint64_t number = 0;
    std::size_t bytes = 0;
  };

  std::unique_ptr<logs::LogTables> tables;
  std::map<LogOwner, Entry> owners;
  std::list<LogOwner> uses;  ///< newest first
  /// The owners with something that is not sealed, by the record that brought the first of it;
  /// `full` are those with a chunk's worth.
  std::set<std::pair<std::uint64_t, LogOwner>> waiting;
  std::set<std::pair<std::uint64_t, LogOwner>> full;
  std::size_t waiting_bytes = 0;
  std::uint64_t next_record = 1;
  std::deque<Record> records;
  std::size_t log_bytes = 0;
  bool has_tombstones = false;

  /// Returns an owner's log. Nullptr: nothing is known of it. The pointer is valid until trim() or
  /// forget().
  Result<logs::OwnerLog*> find(LogOwner owner);
  /// Finds an owner's log, and adds it where there is none. Requires: a transaction is open.
  Result<logs::OwnerLog*> find_or_add(LogOwner owner);
  void accept(logs::OwnerLog& log, std::uint64_t record, const LogFragment& fragment);
  /// Seals the owner's open lines. Requires: a transaction is open, and every fragment of the
  /// newest record was accepted.
  Status seal(logs::OwnerLog& log);
  /// Deletes records in which nothing waits. Requires: a transaction is open.
  Status trim_log();
  void forget(LogOwner owner);
  /// Forgets what was used longest ago and has nothing that waits.
  void trim(std::size_t owners_max);

 private:
  logs::OwnerLog* insert(std::unique_ptr<logs::OwnerLog> log);
};

}  // namespace muster

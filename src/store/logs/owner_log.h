// One owner's log in memory: what is known of its chunks, its streams, and the lines that lie in no
// chunk yet.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/logs/line_splitter.h"
#include "store/logs/log_chunk.h"
#include "store/logs/log_tables.h"

namespace muster::logs {

class OwnerLog {
 public:
  /// Loads an owner's log. Errors: kCorruption; kUnavailable when the disk refuses.
  static Result<std::unique_ptr<OwnerLog>> load(LogTables& tables, const OwnerRow& row);

  const OwnerRow& row() const { return row_; }
  const std::vector<ChunkEntry>& directory() const { return directory_; }
  const std::map<StreamKey, LineSplitter>& streams() const { return streams_; }
  /// Returns the lines in no chunk. The first has the number row().next_line.
  const LogChunk& open() const { return open_; }
  std::uint64_t next_line() const { return row_.next_line + open_.size(); }
  /// Returns the first line that has not been deleted.
  std::uint64_t first_line() const {
    return directory_.empty() ? row_.next_line : directory_.front().first_line;
  }
  /// Returns the first record that brought something not sealed yet; 0: everything is sealed.
  std::uint64_t waiting_since() const { return waiting_since_; }
  std::size_t open_bytes() const { return open_bytes_; }
  /// Returns when something was received last, as far as it is not sealed.
  std::int64_t last_time_us() const { return last_time_us_; }

  /// Returns how far a stream has been received; 0 when nothing is known of it.
  std::uint64_t next_offset(const StreamKey& key) const;
  /// Accepts what record number `record` brought.
  void accept(std::uint64_t record, const LogFragment& fragment);
  /// Compresses the open lines, with a small chunk before them, into chunks, and writes how far
  /// streams are. Cost: some 15 ms for 1 MiB. Requires: a transaction is open; when it fails this
  /// object is of no use any more.
  Status seal(LogTables& tables, std::uint64_t record);
  /// Forgets a chunk that was deleted.
  void forget_chunk(std::uint64_t number);

  /// Returns a chunk's text. Errors: kCorruption.
  Result<std::string> text(LogTables& tables, const ChunkEntry& entry) const;
  Result<LogChunk> chunk(LogTables& tables, const ChunkEntry& entry, std::string text) const;

 private:
  explicit OwnerLog(OwnerRow row) : row_(row) {}
  Status write_chunk(LogTables& tables, const LogChunk& lines);

  OwnerRow row_;
  std::vector<ChunkEntry> directory_;
  std::map<StreamKey, LineSplitter> streams_;
  std::set<StreamKey> changed_;  ///< streams whose stored state is behind
  LogChunk open_;
  std::size_t open_bytes_ = 0;
  std::uint64_t waiting_since_ = 0;
  std::int64_t last_time_us_ = 0;
};

}  // namespace muster::logs

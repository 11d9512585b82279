// The tables of the log store's file, as bytes and numbers. Format: docs/internals/log_store.md.
// All SQL is in this file's source.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "model/task_log.h"
#include "store/files/sql_file.h"
#include "store/logs/line_splitter.h"
#include "store/logs/log_chunk.h"

namespace muster::logs {

/// An owner's number in the file. 0 is none.
using OwnerNumber = Id<struct OwnerTag, std::uint64_t>;

inline constexpr unsigned kChunkBits = 24;
inline constexpr std::uint64_t kChunksMax = std::uint64_t{1} << kChunkBits;

struct OwnerRow {
  OwnerNumber number;
  LogOwner owner;
  std::uint64_t sealed_record =
      0;  ///< what records up to this one brought lies in chunks and stream states
  std::uint64_t next_line = 1;  ///< of what lies in chunks
};

struct StreamRow {
  StreamKey key;
  std::string state;
};

struct SealedChunk {
  ChunkEntry entry;
  std::string text;
  std::string heads;
  std::string filter;
};

struct LogTombstone {
  LogOwner owner;
  std::uint64_t last_record = 0;
};

/// Which parts of a chunk to read.
enum class ChunkPart : std::uint8_t { kText, kHeads, kFilter };

/// The tables. Every method: kUnavailable when the disk refuses, kCorruption when the file is
/// damaged. Outside of a transaction each change is one of its own.
class LogTables {
 public:
  /// Opens or creates the file. Errors: kFailedPrecondition when it has a newer format.
  static Result<std::unique_ptr<LogTables>> open(const std::string& path);
  ~LogTables();
  /// Returns the session, for a SqlTransaction around several changes.
  soci::session& session();

  // ---- the log of what lies in no chunk yet ----
  // Returns the number of the next record.
  Result<std::uint64_t> next_record();
  Status put_next_record(std::uint64_t record);
  Status add_log(std::uint64_t record, std::string_view bytes);
  /// Calls `visit` with the records, in order.
  Status each_log(
      const std::function<Status(std::uint64_t record, const std::string& bytes)>& visit);
  /// Deletes the records below.
  Status trim_log(std::uint64_t record);

  // ---- owners and streams ----
  Result<std::optional<OwnerRow>> find_owner(LogOwner owner);
  /// Adds an owner under a new number.
  Result<OwnerNumber> add_owner(LogOwner owner);
  Status put_owner(const OwnerRow& row);
  Result<std::vector<StreamRow>> streams(OwnerNumber owner);
  Status put_stream(OwnerNumber owner, const StreamRow& row);

  // ---- chunks ----
  Result<std::vector<ChunkEntry>> directory(OwnerNumber owner);
  Status put_chunk(OwnerNumber owner, const SealedChunk& chunk);
  Result<std::string> part(OwnerNumber owner, std::uint64_t chunk, ChunkPart part);
  Status drop_chunk(OwnerNumber owner, std::uint64_t chunk);
  /// Returns at most `limit` chunks all of whose lines are older than that, with their owners.
  Result<std::vector<std::pair<OwnerNumber, std::uint64_t>>> chunks_before(TimePoint time,
                                                                           std::uint32_t limit);
  /// Returns the size of each owner's log. Cost: reads the whole directory.
  Result<std::vector<LogSize>> sizes();

  // ---- deletion ----
  // Forgets the owner; sweep() deletes its rows.
  Status bury(OwnerNumber number, LogOwner owner, std::uint64_t last_record);
  Result<std::vector<LogTombstone>> tombstones();
  Status drop_tombstones(std::uint64_t record);
  /// Deletes at most about `chunks_max` chunks of deleted owners. True: none are left.
  Result<bool> sweep(std::uint32_t chunks_max);

 private:
  struct Statements;
  explicit LogTables(std::unique_ptr<Statements> statements);
  std::unique_ptr<Statements> sql_;
};

}  // namespace muster::logs

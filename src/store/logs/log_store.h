// The output of tasks, on stable storage. SQLite stands behind it (sqlite_logs.h). Threads, clocks,
// and what a line sets off do not belong here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/task_log.h"

namespace muster {

/// How far one stream has been received.
struct LogStreamState {
  std::uint32_t run = 0;
  std::uint32_t rank = 0;
  LogStream stream = LogStream::kStdout;
  std::uint64_t next_offset = 0;
  std::uint64_t source = 0;
};

/// The state of one stream whose last line has no end yet.
struct LogTail {
  std::uint64_t next_offset = 0;
  std::string unfinished;
};

/// The store is used by one thread at a time. Every method: kUnavailable when storage refuses,
/// kCorruption when what is stored is damaged. A refused change is there whole or not at all; it
/// may be tried again. Lines are numbered over all streams of an owner as they come. A line is
/// visible as soon as the append that brings its end has returned, and is then on stable storage.
class LogStore {
 public:
  virtual ~LogStore() = default;

  /// Stores fragments in one transaction, durable on return. Returns for each the offset up to
  /// which its stream has been received: the sender continues from there. Bytes that were received
  /// before change nothing; bytes that are missing before a fragment leave a marker line, and are
  /// not accepted later. Requires: a fragment has at most 16 MiB. Errors: kInvalidArgument when it
  /// has more; nothing is stored then. Cost: one sync; also compresses a bounded part of what
  /// waits, some 15 ms for 1 MiB.
  virtual Result<std::vector<std::uint64_t>> append(const std::vector<LogFragment>& fragments) = 0;

  /// Returns lines of an owner that match, in order (backward: the newest first). A page ends at
  /// `lines_max`, at 4 MiB of answer, or when `bytes_max` of text were looked through: it may be
  /// empty although there is more behind `next`. Errors: kInvalidArgument when the pattern is
  /// refused (with RE2's message) or lines_max is 0. Cost: chunks that cannot match, by time, rank,
  /// stream, level or trigrams, are passed over in microseconds; the others need some 3 ms for each
  /// MiB of text.
  virtual Result<LogPage> read(const LogQuery& query) = 0;
  /// Returns what tasks have written without an end of line so far, by run, rank, stream and
  /// source. `id` is 0.
  virtual Result<std::vector<LogLine>> unfinished_lines(LogOwner owner) = 0;
  /// Returns the owner's streams, by run, rank, stream and source; empty when nothing is known of
  /// the owner.
  virtual Result<std::vector<LogStreamState>> streams(LogOwner owner) = 0;
  /// Returns a stream's state; zeros when nothing is known of it.
  virtual Result<LogTail> tail(const LogStreamId& id) = 0;
  /// Returns the size of every owner's log that has lines. Cost: reads the whole directory, some
  /// 100 bytes for each MiB of text.
  virtual Result<std::vector<LogSize>> sizes() = 0;

  /// Removes everything of the owner from every answer, durable on return. After sweep() the file
  /// uses its room again; it does not become shorter.
  virtual Status delete_owner(LogOwner owner) = 0;
  /// Deletes at most about `chunks_max` chunks, whoever owns them, of which every line was received
  /// before `time`. Numbers of lines stay. True: nothing is left to delete.
  virtual Result<bool> delete_before(TimePoint time, std::uint32_t chunks_max) = 0;
  /// Removes at most about `chunks_max` chunks of deleted owners. True: nothing is left.
  virtual Result<bool> sweep(std::uint32_t chunks_max) = 0;
  /// Compresses what waits, the oldest first, at least `bytes` of it. True: nothing waits.
  virtual Result<bool> compact(std::size_t bytes) = 0;

  /// Returns how much waits, for probes. Units: bytes, approximate.
  virtual std::size_t waiting_bytes() const = 0;
};

}  // namespace muster

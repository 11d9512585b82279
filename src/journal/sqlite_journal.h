// The journal on SQLite: one row per batch, blobs beside them, checkpoints in slices. Format: docs/internals/journal.md.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/event.h"
#include "records/checkpoint_codec.h"

namespace muster {

/// One open journal file. Used by one thread at a time. Every method returns kUnavailable when the disk refuses (full,
/// I/O error): nothing of that call is seen then, and it may be tried again; kCorruption when the file is damaged.
/// After a crash an append that was refused is there whole or not at all, because its sync may have failed too late.
class SqliteJournal {
 public:
  struct Options {
    std::string path;
  };
  /// Opens or creates. Errors: kFailedPrecondition when the file has a newer format (the message names both).
  static Result<std::unique_ptr<SqliteJournal>> open(const Options& options);
  ~SqliteJournal();
  SqliteJournal(const SqliteJournal&) = delete;
  SqliteJournal& operator=(const SqliteJournal&) = delete;

  /// Takes the leadership: a fencing epoch above every earlier one. Errors as above.
  Result<Epoch> take_lead();

  /// Stores the batches in one transaction, durable on return. Requires: numbers without a gap after last().
  /// Errors: kConflict when another controller has taken the lead; the caller must stop.
  Status append(const std::vector<EventBatchRef>& batches);

  /// Calls `visit` for each slice of the newest whole checkpoint, in order; the answer is its number, 0 when there is none.
  Result<Seq> read_checkpoint(const std::function<Status(records::Slice)>& visit);
  /// Calls `visit` for every stored batch above `after`, in order.
  Status replay(Seq after, const std::function<Status(const EventBatch&)>& visit);

  Seq last() const { return last_; }
  Result<std::string> read_blob(BlobId id);

  /// A checkpoint is slices under a new generation, then a manifest that makes it count.
  Status begin_checkpoint();
  Status add_slice(const std::string& record);
  Status finish_checkpoint(Seq seq);
  /// Deletes at most `rows_max` batches up to `seq`, old slices and blobs named in `dead`. True: nothing left to delete.
  Result<bool> truncate(Seq seq, std::uint32_t rows_max);
  /// Moves the write-ahead log into the file. Cost: I/O; safe from a connection on another thread.
  Status checkpoint_log();
  /// A harmless write that shows whether the disk takes writes again.
  Status probe();

 private:
  struct Statements;
  explicit SqliteJournal(std::unique_ptr<Statements> statements);
  std::unique_ptr<Statements> sql_;
  Seq last_;
  Epoch epoch_;
  std::int64_t generation_ = 0;
  std::int64_t slices_ = 0;
};

}  // namespace muster

// The journal on SQLite: one row per batch, blobs beside them, checkpoints in slices. Format:
// docs/internals/journal.md.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/batch_mark.h"
#include "records/checkpoint_codec.h"

namespace muster {

/// What a whole checkpoint says of itself.
struct CheckpointSeal {
  Seq seq;                        ///< 0: there is no checkpoint
  std::uint32_t hash_format = 0;  ///< by which `state_hash` was reckoned; 0: none is recorded
  std::uint64_t state_hash = 0;
};

/// Where the machine's steady clock stood when the last batch was stored: how long a controller was
/// away.
struct JournalClock {
  std::uint64_t boot = 0;  ///< the boot that `steady` counts from
  Duration steady;         ///< CLOCK_BOOTTIME
  TimePoint event_time;    ///< of the batch's last event
};

/// One open journal file. Used by one thread at a time. Every method returns kUnavailable when the
/// disk refuses (full, I/O error): nothing of that call is seen then, and it may be tried again;
/// kCorruption when the file is damaged: batches and slices carry a digest. After a crash an append
/// that was refused is there whole or not at all, because its sync may have failed too late.
class SqliteJournal {
 public:
  struct Options {
    std::string path;
    bool is_read_only = false;  ///< to look beside a controller that writes, at what is stored now:
                                ///< takes no lock that it would wait for
  };
  /// Opens or creates; a file of an older format is brought to this one, unless it is only read.
  /// Errors: kFailedPrecondition when the file has a newer format (the message names both).
  static Result<std::unique_ptr<SqliteJournal>> open(const Options& options);
  ~SqliteJournal();
  SqliteJournal(const SqliteJournal&) = delete;
  SqliteJournal& operator=(const SqliteJournal&) = delete;

  /// Takes the leadership: a fencing epoch above every earlier one, and above `beyond`. Errors as
  /// above.
  Result<Epoch> take_lead(Epoch beyond = Epoch(0));

  /// Stores the batches in one transaction, durable on return; `clock` tells when. Requires:
  /// numbers without a gap after last(). Errors: kConflict when another controller has taken the
  /// lead; the caller must stop.
  Status append(const std::vector<EventBatchRef>& batches, const JournalClock& clock = {});
  /// As of the last append that told it. Nullopt: none has.
  Result<std::optional<JournalClock>> clock();

  /// Calls `visit` for each slice of the newest whole checkpoint that is not newer than `newest`,
  /// in order. Where there is none, all batches are kept and the seal's number is 0; where those
  /// are gone, too, it is the oldest checkpoint.
  Result<CheckpointSeal> read_checkpoint(const std::function<Status(records::Slice)>& visit,
                                         Seq newest = Seq(UINT64_MAX));
  /// Calls `visit` for every stored batch above `after`, in order.
  Status replay(Seq after, const std::function<Status(const EventBatch&)>& visit);

  Seq last() const { return last_; }
  /// Which batch has that number here. Nullopt: neither it nor a checkpoint that ends with it is
  /// there any more, or yet.
  Result<std::optional<BatchMark>> mark(Seq seq);
  /// A script or an environment. Errors: kNotFound; kCorruption: its bytes are not those that were
  /// written.
  Result<std::string> read_blob(BlobId id);
  /// Reads every script and environment: which are not what was written.
  Result<std::vector<BlobId>> damaged_blobs();
  /// Remembers that a blob was found damaged: the next start need not find out again.
  Status note_damaged(BlobId id);
  Result<std::vector<BlobId>> noted_damaged();

  /// A checkpoint is slices under a new generation, then a manifest that makes it count. Those
  /// before it stay until `truncate` finds that nobody needs them.
  Status begin_checkpoint();
  Status add_slice(const std::string& record);
  Status finish_checkpoint(const CheckpointSeal& seal);
  /// Deletes what a recovery needs no more when history has every batch up to `history` on stable
  /// storage: checkpoints before the newest that history has passed, at most `rows_max` of the
  /// batches up to that one, and as many slices of older checkpoints. True: nothing is left to
  /// delete.
  Result<bool> truncate(Seq history, std::uint32_t rows_max);
  /// Moves the write-ahead log into the file, and gives its room back. Cost: I/O.
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

/// Moves what the write-ahead log of the journal at `path` holds into its file, over a connection
/// of its own: whoever appends meanwhile is not held up, and what it appends stays in the log.
/// Cost: I/O.
Status move_journal_log(const std::string& path);

}  // namespace muster

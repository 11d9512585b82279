// The log of batches, and what is stored with it, as an interface that every engine behind it has.
// One writer leads under an epoch and appends; readers follow from a number; checkpoints bound what
// must be read; truncation waits for the slowest follower. SQLite stands behind it
// (sqlite_journal.h); nothing here supposes a file, so that a database which several controllers
// share can.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/batch_mark.h"
#include "model/event.h"
#include "records/checkpoint_codec.h"

namespace muster {

/// The seal of a whole checkpoint: what it says of itself.
struct CheckpointSeal {
  Seq seq;                        ///< 0: there is no checkpoint
  std::uint32_t hash_format = 0;  ///< by which `state_hash` was reckoned; 0: none is recorded
  std::uint64_t state_hash = 0;
};

/// The reading of the machine's steady clock when the last batch was stored, from which follows how
/// long a controller was away.
struct JournalClock {
  std::uint64_t boot = 0;  ///< the boot that `steady` counts from
  Duration steady;         ///< CLOCK_BOOTTIME
  TimePoint event_time;    ///< of the batch's last event
};

/// A journal is used by one thread at a time. Every method returns kUnavailable when storage
/// refuses (full, I/O error): nothing of that call is seen then, and it may be tried again;
/// kCorruption when what is stored is damaged. After a crash an append that was refused is there
/// whole or not at all, because its sync may have failed too late.
class Journal {
 public:
  virtual ~Journal() = default;

  // ---- the leader ----

  /// Acquires the leadership: a fencing epoch above every earlier one, and above `beyond`.
  virtual Result<Epoch> acquire_leadership(Epoch beyond = Epoch(0)) = 0;
  /// Stores the batches in one transaction, durable on return; `clock` tells when. Requires:
  /// numbers without a gap after last(). Errors: kConflict when another controller has acquired the
  /// lead; the caller must stop.
  virtual Status append(const std::vector<EventBatchRef>& batches,
                        const JournalClock& clock = {}) = 0;
  /// Returns the clock of the last append that gave one (boot not 0). Nullopt: none has.
  virtual Result<std::optional<JournalClock>> clock() = 0;

  // ---- followers ----

  /// Returns the number of the newest batch, or of the newest checkpoint where its batches are
  /// gone; 0: neither is there.
  virtual Seq last() const = 0;
  /// Calls `visit` for every stored batch above `after`, in order. Ends with the first error of
  /// `visit`, and returns it. Errors: kCorruption when the batch after `after`, or any later one up
  /// to the newest, is missing or damaged; those before it were visited. Where no batch above
  /// `after` is stored nothing is visited, although last() may be above it: by a checkpoint.
  virtual Status follow(Seq after, const std::function<Status(const EventBatch&)>& visit) = 0;
  /// Returns the mark of the batch that has that number here. Nullopt: neither it nor a checkpoint
  /// that ends with it is there any more, or yet.
  virtual Result<std::optional<BatchMark>> mark(Seq seq) = 0;
  /// Calls `visit` for each slice of the newest whole checkpoint that is not newer than `newest`,
  /// in order, and returns its seal; an error of `visit` ends it and is returned. Where there is no
  /// such checkpoint: if the first batch is still stored, nothing is visited and the seal's number
  /// is 0; otherwise the oldest checkpoint is used, although it is newer than `newest`.
  virtual Result<CheckpointSeal> read_checkpoint(const std::function<Status(records::Slice)>& visit,
                                                 Seq newest = Seq(UINT64_MAX)) = 0;

  // ---- scripts and environments ----

  /// Returns a blob's bytes. Errors: kNotFound; kCorruption: its bytes are not those that were
  /// written.
  virtual Result<std::string> read_blob(BlobId id) = 0;
  /// Reads all blobs, and returns those whose bytes are not what was written.
  virtual Result<std::vector<BlobId>> damaged_blobs() = 0;
  /// Remembers that a blob was found damaged: the next start need not find out again.
  virtual Status record_damaged(BlobId id) = 0;
  virtual Result<std::vector<BlobId>> recorded_damaged() = 0;

  // ---- checkpoints and room ----

  /// Begins a checkpoint: slices under a new generation, then finish_checkpoint(), without which
  /// they do not count. A second call starts anew, and leaves what was added to truncate(). Earlier
  /// checkpoints stay until truncate() finds that nobody needs them.
  virtual Status begin_checkpoint() = 0;
  virtual Status add_slice(const std::string& record) = 0;
  virtual Status finish_checkpoint(const CheckpointSeal& seal) = 0;
  /// Deletes what a recovery needs no more when the slowest follower has every batch up to
  /// `slowest` on stable storage: checkpoints before the newest that it has passed, at most
  /// `rows_max` of the batches up to that one, and as many slices of older checkpoints. It is
  /// called again until it returns true: then it found no row to delete. Requires: rows_max > 0.
  virtual Result<bool> truncate(Seq slowest, std::uint32_t rows_max) = 0;
  /// Moves what was written lately to where it stays, and gives room back: of use when nothing else
  /// is to be done, or much has been written. Cost: I/O.
  virtual Status tidy() = 0;
  /// Returns the longer part of that, which another thread may call, over a connection of its own,
  /// while this one appends. Null: there is no such part.
  virtual std::function<Status()> tidy_beside() = 0;
};

}  // namespace muster

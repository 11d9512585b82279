// The writer of the journal. Batches come first and together, everything else in their gaps,
// because replies wait for batches.
//
//   batches ──▶ one append ──▶ on_durable | on_failure
//   blobs asked for ──▶ looked up at once
//   slices of a checkpoint, its end, how far history is ──▶ one a turn
//   nothing ──▶ the log is tidied, what nobody needs is truncated, the reserve is looked after
// The role is single-threaded; `steady` is the machine's steady clock, CLOCK_BOOTTIME.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/journal/disk_reserve.h"
#include "engine/journal/journal_messages.h"

namespace muster {

/// The interface that the role calls. It is called within a turn; an implementation must not call
/// back.
class JournalRolePort {
 public:
  virtual ~JournalRolePort() = default;
  /// Says that every batch up to `seq` is on stable storage.
  virtual void on_durable(Seq seq) = 0;
  /// Says that a batch was refused, and none is stored any more: this run of the controller is
  /// over. kConflict: another leads.
  virtual void on_failure(const Error& error) = 0;
  virtual void on_blob(const FetchBlob& asked, Result<std::string> bytes) = 0;
  /// Says that a slice of a checkpoint has been accepted; another may be sent.
  virtual void on_slice() = 0;
  /// Says that new work is refused from now on, and why; nullopt: it is accepted again.
  virtual void on_room(const std::optional<Error>& refusal) = 0;
  /// Asks that what Journal::tidy_beside returns be called on another thread, and TidiedBeside be
  /// sent after it. It is called only where the journal has such a part.
  virtual void tidy_beside() = 0;
};

class JournalRole {
 public:
  struct Bounds {
    /// How many bytes are written before the journal is tidied although it is busy.
    std::size_t tidy_bytes = 16 << 20;
    std::size_t tidy_batches = 2000;
    std::uint32_t truncated_rows = 500;  ///< in one piece
    /// The pause between two pieces of a truncation while messages come in.
    Duration truncation_pause = Duration::milliseconds(50);
  };
  /// Holds references: journal, reserve and port outlive it. `boot`: the number of the machine's
  /// boot (JournalClock).
  JournalRole(Journal& journal, DiskReserve& reserve, JournalRolePort& port, std::uint64_t boot,
              const Bounds& bounds);
  JournalRole(Journal& journal, DiskReserve& reserve, JournalRolePort& port, std::uint64_t boot)
      : JournalRole(journal, reserve, port, boot, Bounds()) {}

  /// Checks before the first turn whether there is room for new work.
  void start() { look_after_reserve(); }
  /// Handles what has arrived, perhaps nothing, and a bounded part of what waits.
  void turn(std::vector<ToJournal> messages, Duration steady);
  /// Returns how long to wait for messages before the next turn.
  Duration timeout() const;

 private:
  void append(const std::vector<EventBatchRef>& batches, Duration steady);
  void fetch(const FetchBlob& asked);
  void receive(const EventBatchRef&) {}
  void receive(const FetchBlob&) {}
  void receive(const BeginCheckpoint&);
  void receive(const CheckpointSlice& slice);
  void receive(const FinishCheckpoint& end);
  void receive(const HistoryStored& stored);
  void receive(const TidiedBeside&);
  void idle(Duration steady);
  void tidy();
  void tidy_when_much(std::size_t bytes);
  void truncate(Duration steady);
  void look_after_reserve();

  Journal& journal_;
  DiskReserve& reserve_;
  JournalRolePort& port_;
  const std::uint64_t boot_;
  const bool can_tidy_beside_;
  const Bounds bounds_;
  std::deque<ToJournal> waiting_;  ///< all but batches and blobs, in their order
  bool is_over_ = false;           ///< an append was refused
  bool has_reserve_ = true;
  bool is_checkpoint_whole_ = false;
  bool has_truncation_ = false;
  bool is_tidied_beside_ = false;
  std::size_t untidy_bytes_ = 0;  ///< written since the journal was tidied
  std::size_t untidy_batches_ = 0;
  Duration truncated_at_;
  Seq history_;
};

}  // namespace muster

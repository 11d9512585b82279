// The messages that the journal's role gets from the others of its process.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "journal/journal.h"
#include "model/event.h"

namespace muster {

struct FetchBlob {
  BlobId id;
  std::uint64_t token = 0;  ///< 0: for the core; else for the gateway's request of that number
};
/// Begins a checkpoint: one of these, its slices, and its end.
struct BeginCheckpoint {};
struct CheckpointSlice {
  std::string record;
};
struct FinishCheckpoint {
  CheckpointSeal seal;
};
/// Says that history has every batch up to `seq` on stable storage.
struct HistoryStored {
  Seq seq;
};
/// Says that the work which JournalRolePort::tidy_beside asked for is over.
struct TidiedBeside {};

using ToJournal = std::variant<EventBatchRef, FetchBlob, BeginCheckpoint, CheckpointSlice,
                               FinishCheckpoint, HistoryStored, TidiedBeside>;

}  // namespace muster

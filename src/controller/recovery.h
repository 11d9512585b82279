// From a journal file back to the state: the newest whole checkpoint, then every batch after it.
#pragma once

#include "base/result.h"
#include "journal/sqlite_journal.h"
#include "state/cluster_state.h"

namespace muster {

/// Brings `state`, which must be fresh, to the last stored batch, or to `until` if that comes first and no checkpoint is
/// newer. `observer` (may be null) sees what is replayed. Errors: kCorruption, kUnavailable.
Status recover(SqliteJournal& journal, ClusterState& state, ApplyObserver* observer, Seq until = Seq(UINT64_MAX));

/// Puts one slice of a checkpoint into a state that is being restored. Requires: slices in the order of write_checkpoint.
void restore_slice(ClusterState& state, records::Slice slice);

/// Writes a checkpoint of `state` in slices; `put` stores one and may wait between. Cost: O(state).
Status write_checkpoint(const ClusterState& state, const std::function<Status(std::string)>& put);

}  // namespace muster

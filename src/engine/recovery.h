// Restores the state from a journal: a whole checkpoint, then every batch after it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/durable_update.h"
#include "journal/journal.h"
#include "state/cluster_state.h"
#include "store/history/history_store.h"

namespace muster {

/// How far a recovery goes, and how much of it must be seen.
struct RecoveryBounds {
  Seq until = Seq(
      UINT64_MAX);  ///< the last batch that is applied, unless even the oldest checkpoint is newer
  Seq history = Seq(UINT64_MAX);  ///< the last batch that history has: every one after it is
                                  ///< replayed for the observer
};

/// What a recovery found.
struct RecoveryReport {
  Seq checkpoint;  ///< that it began with; 0: none. Above `history`: history has been lost in
                   ///< between
  std::uint64_t replayed_events = 0;
};

/// Brings `state`, which must be fresh, to the last stored batch within the bounds: from the newest
/// checkpoint that neither of them precedes. `observer` (may be null) sees what is replayed; where
/// history ends before that checkpoint, also what had ended by then and is still in memory. Errors:
/// kCorruption, also when a checkpoint does not make the state that it was written from;
/// kUnavailable.
Result<RecoveryReport> recover(Journal& journal, ClusterState& state, ApplyObserver* observer,
                               const RecoveryBounds& bounds = {});

/// What a start must do where history does not fit the journal.
struct HistoryVerdict {
  JobId job_floor;  ///< ids up to it were given, whatever the journal knows; 0: nothing beyond it
  std::string warning;  ///< for the log; empty: the two go together
};
/// Judges the two. `last`: the journal's last batch before this start; `state`: what was recovered
/// from it. `is_same_past`: the batch up to which history has everything is the journal's.
HistoryVerdict judge_history(const HistoryMark& mark, bool is_same_past, Seq last,
                             const RecoveryReport& report, const ClusterState& state);

/// What a start finds in its journal and in the history beside it.
struct StartRecovery {
  RecoveryReport report;
  std::vector<HistoryRecord>
      unprojected;  ///< what history lacks: to be stored there before anything new ends
  HistoryVerdict verdict;
};
/// Recovers as recover() does, to the journal's end. A history whose past is another than the
/// journal's (either was restored from a copy) is given all that the journal still knows.
Result<StartRecovery> recover_beside_history(Journal& journal, ClusterState& state,
                                             const HistoryMark& mark);

/// Returns the mark of the last batch that made the state.
BatchMark mark_of(const ClusterState& state);

/// Restores one slice of a checkpoint into a state. Requires: slices in the order of
/// write_checkpoint.
void restore_slice(ClusterState& state, records::Slice slice);

/// Returns the seal of a checkpoint of `state`.
CheckpointSeal seal_of(const ClusterState& state);

/// Writes a checkpoint of `state` in slices; `put` stores one and may wait between. Cost: O(state).
Status write_checkpoint(const ClusterState& state, const std::function<Status(std::string)>& put);

}  // namespace muster

// Says which checkpoints of an experiment that has ended are kept. Pure. Source: Determined 0.38,
// checkpoint garbage collection.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/checkpoint.h"
#include "model/event.h"
#include "model/experiment.h"
#include "model/job.h"
#include "state/checkpoint_table.h"

namespace muster {

/// A whole checkpoint and the searcher's metric after so much training. Nothing: none was reported
/// there.
struct RatedCheckpoint {
  std::string uuid;
  TrialId trial;
  std::optional<double> metric;  ///< NaN is worse than any number
};

/// Returns those that are not kept: neither among the best of the experiment, nor among the best of
/// their trial, nor among the latest of it. One without a metric is among no best ones. Requires:
/// those of a trial in the order in which they came to be whole.
std::vector<std::string> unretained(std::span<const RatedCheckpoint> checkpoints,
                                    const CheckpointRetention& retention, bool smaller_is_better);

/// Returns what checkpoints are since `job`, which was to delete them, broke off: nobody knows how
/// far it came, and nothing may go on from what may be gone. A job that never began has touched
/// none.
std::vector<CheckpointRef> broken_off(const CheckpointTable& known, const Collection& collection,
                                      const Job& job);

/// Returns the experiment's change then, with the cause: one that was to be deleted as a whole has
/// not been.
ExperimentChanged deletion_failed(const Collection& collection, const Job& job);

/// Returns the retention that the configuration of an experiment has and its record does not: a
/// version that stored none made the record. Nothing: the record has it, or says the same.
std::optional<CheckpointRetention> unrecorded_retention(const Experiment& experiment);

}  // namespace muster

// A trial's checkpoints, as far as the controller knows them: the files are in the experiment's
// checkpoint storage. Source: Determined 0.38.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

namespace muster {

/// Numbers are part of journal and wire.
enum class CheckpointState : std::uint8_t {
  kActive = 0,     ///< announced: its files may be half written
  kCompleted = 1,  ///< whole
  kError = 2,
  kDeleted = 3,
  kPartiallyDeleted = 4,  ///< some of its files were deleted
};

/// Immutable: a change is another value under the same uuid.
struct Checkpoint {
  std::string uuid;  ///< the client's choice
  TrialId trial;
  std::uint32_t run = 1;  ///< that wrote it, from 1
  std::uint64_t steps_completed = 0;
  CheckpointState state = CheckpointState::kActive;
  TimePoint report_time;
  std::uint64_t size = 0;  ///< bytes, of all files
  std::string metadata;    ///< a JSON object
  std::string resources;   ///< a JSON object: the size of each file in bytes, by its path
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};
using CheckpointRef = std::shared_ptr<const Checkpoint>;

/// How many checkpoints stay when an experiment has ended; what any of the three keeps is kept.
struct CheckpointRetention {
  std::uint32_t experiment_best = 0;  ///< of all trials together, by the searcher's metric
  std::uint32_t trial_best = 1;
  std::uint32_t trial_latest = 1;
  friend bool operator==(const CheckpointRetention&, const CheckpointRetention&) = default;
};

/// Checkpoints whose files a job of their owner's is deleting. While a collection exists nothing
/// may begin to use them.
struct Collection {
  JobId job;
  ExperimentId experiment;
  bool is_whole = false;  ///< the experiment goes with them
  std::vector<std::string> uuids;
  friend bool operator==(const Collection&, const Collection&) = default;
};

}  // namespace muster

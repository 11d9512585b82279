// Why a job waits, as data: all reasons, and the one word of Slurm's that follows from them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

namespace muster {

/// The single word that `squeue` shows. Numbers are part of the wire: never reused.
enum class PendingReason : std::uint8_t {
  kNone = 0,
  kPriority = 1,
  kDependency = 2,
  kResources = 3,
  kPartitionNodeLimit = 4,
  kPartitionTimeLimit = 5,
  kPartitionDown = 6,
  kPartitionInactive = 7,
  kJobHeldAdmin = 8,
  kBeginTime = 9,
  kLicenses = 10,
  kReqNodeNotAvail = 11,
  kJobHeldUser = 12,
  kJobArrayTaskLimit = 13,
  kBadConstraints = 14,
  kDependencyNeverSatisfied = 15,
  kPartitionConfig = 16,
  kNonZeroExitCode = 17,
  kRaisedSignal = 18,
  kTimeLimit = 19,
  kNodeDown = 20,
  kJobLaunchFailure = 21,
  kOutOfMemory = 22,
  kCleaning = 23,
  kJobHoldMaxRequeue = 24,
  kReservation = 25,
  kInvalidAccount = 26,
  kInvalidQos = 27,
  kNodesUnavailable = 28,  ///< "Nodes required for job are DOWN, DRAINED or reserved for jobs in
                           ///< higher priority partitions"
  kDeadline = 29,
  kProlog = 30,
};

/// Returns Slurm's word: "None", "Priority", "ReqNodeNotAvail", ...
std::string_view pending_reason_word(PendingReason reason);

/// One blocking fact. `wanted` and `found` are counts of whatever the constraint names (nodes,
/// CPUs, devices, MiB).
struct ReasonDetail {
  PendingReason reason = PendingReason::kNone;
  std::string constraint;  ///< e.g. "gres gpu:h100:2 on one node", "feature a100", "partition debug
                           ///< is down"
  std::uint64_t wanted = 0;
  std::uint64_t found = 0;
  std::vector<JobId> blocking_jobs;  ///< at most 8, those whose end matters first
  std::vector<NodeIndex> nodes;      ///< at most 64 nodes concerned
  friend bool operator==(const ReasonDetail&, const ReasonDetail&) = default;
};

/// All that blocks one job now. `word` is what Slurm's column shows.
struct Reasons {
  PendingReason word = PendingReason::kNone;
  std::vector<ReasonDetail> details;
  TimePoint expected_start;  ///< unset: not computed; never: not on this cluster as it is
  std::vector<NodeIndex> planned_nodes;
  friend bool operator==(const Reasons&, const Reasons&) = default;
};

}  // namespace muster

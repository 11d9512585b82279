// Slurm's words for the column REASON of squeue; scripts compare them, so that spelling and case
// are Slurm's, "DeadLine" too.

#include "model/reason.h"

namespace muster {

std::string_view pending_reason_word(PendingReason reason) {
  switch (reason) {
    case PendingReason::kNone: return "None";
    case PendingReason::kPriority: return "Priority";
    case PendingReason::kDependency: return "Dependency";
    case PendingReason::kResources: return "Resources";
    case PendingReason::kPartitionNodeLimit: return "PartitionNodeLimit";
    case PendingReason::kPartitionTimeLimit: return "PartitionTimeLimit";
    case PendingReason::kPartitionDown: return "PartitionDown";
    case PendingReason::kPartitionInactive: return "PartitionInactive";
    case PendingReason::kJobHeldAdmin: return "JobHeldAdmin";
    case PendingReason::kBeginTime: return "BeginTime";
    case PendingReason::kLicenses: return "Licenses";
    case PendingReason::kReqNodeNotAvail: return "ReqNodeNotAvail";
    case PendingReason::kJobHeldUser: return "JobHeldUser";
    case PendingReason::kJobArrayTaskLimit: return "JobArrayTaskLimit";
    case PendingReason::kBadConstraints: return "BadConstraints";
    case PendingReason::kDependencyNeverSatisfied: return "DependencyNeverSatisfied";
    case PendingReason::kPartitionConfig: return "PartitionConfig";
    case PendingReason::kNonZeroExitCode: return "NonZeroExitCode";
    case PendingReason::kRaisedSignal: return "RaisedSignal";
    case PendingReason::kTimeLimit: return "TimeLimit";
    case PendingReason::kNodeDown: return "NodeDown";
    case PendingReason::kJobLaunchFailure: return "JobLaunchFailure";
    case PendingReason::kOutOfMemory: return "OutOfMemory";
    case PendingReason::kCleaning: return "Cleaning";
    case PendingReason::kJobHoldMaxRequeue: return "JobHoldMaxRequeue";
    case PendingReason::kReservation: return "Reservation";
    case PendingReason::kInvalidAccount: return "InvalidAccount";
    case PendingReason::kInvalidQos: return "InvalidQOS";
    case PendingReason::kNodesUnavailable:
      return "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority "
             "partitions";
    case PendingReason::kDeadline: return "DeadLine";
    case PendingReason::kProlog: return "Prolog";
  }
  return "None";
}

}  // namespace muster

// Which keys scontrol update takes, so that a command refuses a misspelt one before it asks. Which
// of them may be changed, and by whom, is the core's to say.

#include "slurm/update_keys.h"

#include <algorithm>

#include "text/words.h"

namespace muster {
namespace {

constexpr std::string_view kOfJobs[] = {"Account",     "AdminComment", "ArrayTaskThrottle",
                                        "Comment",     "Dependency",   "EligibleTime",
                                        "ExcNodeList", "Extra",        "Features",
                                        "JobName",     "MailUser",     "Name",
                                        "Nice",        "NumNodes",     "Partition",
                                        "Priority",    "QOS",          "ReqNodeList",
                                        "Requeue",     "StartTime",    "StdErr",
                                        "StdIn",       "StdOut",       "TimeLimit",
                                        "WCKey",       "WorkDir"};
constexpr std::string_view kOfNodes[] = {
    "ActiveFeatures", "AvailableFeatures", "Comment", "Extra", "Features", "Reason", "State",
    "Weight"};
constexpr std::string_view kOfPartitions[] = {
    "Default",  "DefaultTime",       "Hidden",       "MaxNodes", "MaxTime", "MinNodes",
    "RootOnly", "PriorityJobFactor", "PriorityTier", "State"};

}  // namespace

std::span<const std::string_view> update_keys(UpdateKind kind) {
  switch (kind) {
    case UpdateKind::kJob: return kOfJobs;
    // Other kinds are changed by other verbs.
    case UpdateKind::kNode: return kOfNodes;
    case UpdateKind::kPartition: return kOfPartitions;
    case UpdateKind::kStep: return {};
  }
  return {};
}

bool is_update_key(UpdateKind kind, std::string_view name) {
  return std::ranges::any_of(update_keys(kind),
                             [&](std::string_view key) { return equal_ignoring_case(key, name); });
}

}  // namespace muster

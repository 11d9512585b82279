#include "base/result.h"

#include <array>

namespace muster {

std::string_view error_code_name(ErrorCode code) {
  static constexpr std::array<std::string_view, 13> kNames = {"ok",
                                                              "invalid_argument",
                                                              "not_found",
                                                              "already_exists",
                                                              "failed_precondition",
                                                              "permission_denied",
                                                              "resource_exhausted",
                                                              "unavailable",
                                                              "deadline_exceeded",
                                                              "conflict",
                                                              "corruption",
                                                              "unimplemented",
                                                              "internal"};
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? kNames[index] : "unknown";
}

// Causes stand in HTTP replies: clients compare the words.
std::string_view error_cause_name(ErrorCause cause) {
  switch (cause) {
    case ErrorCause::kNone: return "";
    case ErrorCause::kQueueFull: return "queue_full";
    case ErrorCause::kJobPending: return "job_pending";
    case ErrorCause::kUnknownPartition: return "unknown_partition";
    case ErrorCause::kMemoryUnavailable: return "memory_unavailable";
    case ErrorCause::kNoAnswer: return "no_answer";
    case ErrorCause::kNoRoom: return "no_room";
    case ErrorCause::kStaleRun: return "stale_run";
    case ErrorCause::kCannotServe: return "cannot_serve";
    case ErrorCause::kExclusiveOptions: return "exclusive_options";
    case ErrorCause::kNotANumber: return "not_a_number";
    case ErrorCause::kNodeCount: return "node_count";
  }
  return "unknown";
}

std::string Error::text() const { return detail.empty() ? message : message + ": " + detail; }

}  // namespace muster

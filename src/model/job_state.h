// A job's states, as Slurm's users know them.
//
//   PENDING ──start──▶ RUNNING ⇄ SUSPENDED ──▶ COMPLETED | FAILED | TIMEOUT | CANCELLED | NODE_FAIL
//   | …
//      ▲                  │                        (with COMPLETING until every node is clean)
//      └────requeue───────┘
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster {

/// Numbers are part of journal and wire; they equal Slurm's.
enum class JobState : std::uint8_t {
  kPending = 0,
  kRunning = 1,
  kSuspended = 2,
  kCompleted = 3,
  kCancelled = 4,
  kFailed = 5,
  kTimeout = 6,
  kNodeFail = 7,
  kPreempted = 8,
  kBootFail = 9,
  kDeadline = 10,
  kOutOfMemory = 11,
};
inline constexpr int kJobStateCount = 12;

/// Conditions beside the state; the bits of `Job::flags`.
namespace job_flag {
inline constexpr std::uint16_t kCompleting = 1U << 0;   ///< resources still held by some node
inline constexpr std::uint16_t kRequeued = 1U << 1;     ///< pending again after a run
inline constexpr std::uint16_t kSpecialExit = 1U << 2;  ///< held by RequeueExitHold
inline constexpr std::uint16_t kUserHeld = 1U << 3;     ///< held by its owner
inline constexpr std::uint16_t kAdminHeld = 1U << 4;    ///< held by an operator
inline constexpr std::uint16_t kRequeueHeld = 1U << 5;  ///< requeued into hold
inline constexpr std::uint16_t kRequeueAfter = 1U
                                               << 6;  ///< goes back to the queue once it is clean
inline constexpr std::uint16_t kWarned = 1U << 7;     ///< --signal has been sent in this run
inline constexpr std::uint16_t kTrialHeld =
    1U << 8;  ///< its trial waits at a rung, or its experiment is paused
inline constexpr std::uint16_t kAnyHold = kUserHeld | kAdminHeld | kRequeueHeld | kTrialHeld;
}  // namespace job_flag

/// True for every state that a job does not leave by itself: COMPLETED and the others after it.
constexpr bool is_finished(JobState state) { return state >= JobState::kCompleted; }

/// "PENDING", "RUNNING", ...
std::string_view job_state_name(JobState state);
/// "PD", "R", ...
std::string_view job_state_code(JobState state);
/// Returns what the columns show: flags win over the state ("COMPLETING", "REQUEUE_HOLD",
/// "SPECIAL_EXIT", ...).
std::string_view shown_state_name(JobState state, std::uint16_t flags);
std::string_view shown_state_code(JobState state, std::uint16_t flags);
/// Returns the state of a name or a code, in any case. Nullopt: no such state.
std::optional<JobState> parse_job_state(std::string_view text);

}  // namespace muster

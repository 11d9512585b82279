// Names and codes stand in the order of JobState, whose numbers are Slurm's. Flags change only
// what is shown, as in squeue: the state below stays.

#include "model/job_state.h"

#include <array>
#include <cctype>

namespace muster {
namespace {

struct StateWords {
  std::string_view name;
  std::string_view code;
};

constexpr std::array<StateWords, kJobStateCount> kWords = {{
    {"PENDING", "PD"},
    {"RUNNING", "R"},
    {"SUSPENDED", "S"},
    {"COMPLETED", "CD"},
    {"CANCELLED", "CA"},
    {"FAILED", "F"},
    {"TIMEOUT", "TO"},
    {"NODE_FAIL", "NF"},
    {"PREEMPTED", "PR"},
    {"BOOT_FAIL", "BF"},
    {"DEADLINE", "DL"},
    {"OUT_OF_MEMORY", "OOM"},
}};

const StateWords& words(JobState state, std::uint16_t flags) {
  static constexpr StateWords kCompletingWords = {"COMPLETING", "CG"};
  static constexpr StateWords kSpecialExitWords = {"SPECIAL_EXIT", "SE"};
  static constexpr StateWords kRequeueHoldWords = {"REQUEUE_HOLD", "RH"};
  // Slurm shows COMPLETING in place of the state, whatever it is, until the last node has
  // finished.
  if ((flags & job_flag::kCompleting) != 0) return kCompletingWords;
  // Both stand for a job that is pending and held; Slurm shows the flag instead of PENDING.
  if (state == JobState::kPending) {
    if ((flags & job_flag::kSpecialExit) != 0) return kSpecialExitWords;
    if ((flags & job_flag::kRequeueHeld) != 0) return kRequeueHoldWords;
  }
  return kWords[static_cast<std::size_t>(state)];
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::toupper(static_cast<unsigned char>(a[i])) !=
        std::toupper(static_cast<unsigned char>(b[i]))) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string_view job_state_name(JobState state) {
  return kWords[static_cast<std::size_t>(state)].name;
}
std::string_view job_state_code(JobState state) {
  return kWords[static_cast<std::size_t>(state)].code;
}
std::string_view shown_state_name(JobState state, std::uint16_t flags) {
  return words(state, flags).name;
}
std::string_view shown_state_code(JobState state, std::uint16_t flags) {
  return words(state, flags).code;
}

// Slurm's options accept names and codes in any case. The words of flags are no states, and are
// not found here.
std::optional<JobState> parse_job_state(std::string_view text) {
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    if (equal_ignoring_case(text, kWords[i].name) || equal_ignoring_case(text, kWords[i].code)) {
      return static_cast<JobState>(i);
    }
  }
  return std::nullopt;
}

}  // namespace muster

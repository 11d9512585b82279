// The names of what lies in a node's spool for one run of a job, on which the agent and its
// supervisors agree. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/ids.h"
#include "model/step.h"
#include "model/task_log.h"

namespace muster {

/// Returns the folder of what belongs to one run of a job: every step of the job and attempt has
/// the same.
std::string run_folder(std::string_view spool, const StepId& step);
/// Returns the path of the batch script, which is the user's own.
std::string script_path(std::string_view spool, const StepId& step);
/// Returns the path of the file that appears when the run is asked to stop.
std::string stop_path(std::string_view spool, const StepId& step);
/// Returns the path of the private folders of one step.
std::string view_folder(std::string_view spool, const StepId& step);

/// Returns the path of the lock file of which every supervisor holds its step's key
/// (env/posix/key_lock.h).
std::string supervisors_lock_path(std::string_view spool);
std::uint64_t supervisor_key(const StepId& step);
/// Returns a NAME=VALUE that is in the environment of a step's tasks, and of no other step's on
/// this host.
std::string step_mark(std::string_view spool, const StepId& step);

/// Returns the folder of what trials' tasks wrote, until the controller has it: a file for each
/// rank and stream of a step.
std::string output_folder(std::string_view spool);
/// Says whose output a file holds.
struct OutputFileName {
  StepId step;
  TrialId trial;
  std::uint32_t node_rank = 0;  ///< this node's position in the step
  std::uint32_t rank = 0;
  LogStream stream = LogStream::kStdout;
  std::uint32_t runs_before = 0;  ///< of the trial's former jobs
  LogStreamId id() const;
  friend constexpr auto operator<=>(const OutputFileName&, const OutputFileName&) = default;
};
std::string output_file_text(const OutputFileName& name);
/// Reads such a name. Nullopt: it is none.
std::optional<OutputFileName> parse_output_file(std::string_view text);

}  // namespace muster

// The names of what lies in a node's spool for one run of a job: what the agent and its supervisors agree on. Pure.
#pragma once

#include <string>
#include <string_view>

#include "model/step.h"

namespace muster {

/// What belongs to one run of a job; of every step with its job and attempt.
std::string run_folder(std::string_view spool, const StepId& step);
/// The batch script, the user's own.
std::string script_path(std::string_view spool, const StepId& step);
/// Appears when the run is asked to stop.
std::string stop_path(std::string_view spool, const StepId& step);
/// The private folders of one step.
std::string view_folder(std::string_view spool, const StepId& step);

}  // namespace muster

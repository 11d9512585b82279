// Dependencies as text: --dependency=afterok:12:13,afterany:14_3 and scontrol's
// afterok:12(unfulfilled).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/dependency.h"

namespace muster {

/// Reads terms TYPE:JOB[_INDEX|_*][+MINUTES][:JOB...] joined by "," (all must hold) or by "?" (one
/// must), never by both. TYPE, in any case: after, afterany, afterok, afternotok, aftercorr; or
/// singleton, alone. +MINUTES is after's alone. A type with several jobs becomes one term for each.
/// Empty text: no terms (clears a job's dependency). Errors: kInvalidArgument "Job dependency
/// problem" with the offending part; kUnimplemented for afterburstbuffer and expand, by name.
/// Source: sbatch(1) --dependency.
Result<DependencySet> parse_dependency(std::string_view text);

/// Returns the terms not yet fulfilled, each as "afterok:12_3(unfulfilled)" or "(failed)"; empty
/// when none is left. `is_any` joins them by "?". Source: scontrol(1) show job, squeue(1) %E (both
/// print "(null)" for empty).
std::string dependency_text(const DependencySet& set);

}  // namespace muster

// Spans of time as Slurm's commands read and write them: "90", "1:30:00", "2-12", UNLIMITED.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace muster {

/// Reads `minutes`, `minutes:seconds`, `hours:minutes:seconds`, `days-`, `days-hours`,
/// `days-hours:minutes`, `days-hours:minutes:seconds`, or UNLIMITED, INFINITE and -1 (infinite), in
/// any case. Shape: 0 up to 4294967294 minutes; parts may exceed 59. Errors: kInvalidArgument
/// "Invalid time limit specification" with the text. Source: sbatch(1) --time.
Result<Duration> parse_duration(std::string_view text);

/// Reads as `parse_duration` does, for an option that sets a limit: seconds are rounded up to whole
/// minutes and 0 is infinite. Source: sbatch(1) --time: "a time limit of zero requests that no time
/// limit be imposed".
Result<Duration> parse_time_limit(std::string_view text);

/// Returns "0:05", "1:02:03", "1-02:03:04"; UNLIMITED when infinite, INVALID when negative.
/// Fractions of a second are cut. Source: squeue(1) %M and %l, sinfo(1) %l (which says "infinite"
/// for UNLIMITED).
std::string short_duration_text(Duration duration);

/// Returns "00:00:05", "01:02:03", "1-02:03:04"; UNLIMITED and INVALID likewise. Source: sacct(1)
/// Elapsed and Timelimit, scontrol(1) RunTime and TimeLimit.
std::string padded_duration_text(Duration duration);

}  // namespace muster

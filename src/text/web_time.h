// Points in time as HTTP's callers write them (RFC 3339).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace muster {

/// Returns "2026-08-21T16:00:00.123456Z". Unset and never: the empty text.
std::string web_time_text(TimePoint time);
/// Reads a time with any offset and any number of digits behind the second, of which six count;
/// without an offset it is UTC. Errors: kInvalidArgument.
Result<TimePoint> parse_web_time(std::string_view text);

}  // namespace muster

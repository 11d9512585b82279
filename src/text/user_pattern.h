// Checks regular expressions that users write. store/logs/log_pattern.h searches with them.
#pragma once

#include <string_view>

#include "base/result.h"

namespace muster {

/// Checks the length of a pattern. Errors: kInvalidArgument: it is longer than 4 KiB.
Status check_pattern_length(std::string_view text);

/// Checks a pattern. Errors: kInvalidArgument with RE2's message, which names the part that is
/// wrong, or when the pattern is too long or needs more than 8 MiB.
Status check_pattern(std::string_view pattern);

}  // namespace muster

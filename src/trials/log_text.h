// Writes lines of logs as texts.
#pragma once

#include <string_view>

#include "model/task_log.h"

namespace muster {

/// Returns the mark that stands before the rest of a very long line, wherever lines are shown one
/// by one; "" before every other line.
constexpr std::string_view continuation_mark(const LogLine& line) {
  return line.is_continuation ? "[continued] " : "";
}

}  // namespace muster

// Lines of logs as texts.
#pragma once

#include <string_view>

#include "model/task_log.h"

namespace muster {

/// Before what a very long line goes on with, wherever lines are shown one by one; "" before every
/// other line.
constexpr std::string_view continuation_mark(const LogLine& line) {
  return line.is_continuation ? "[continued] " : "";
}

}  // namespace muster

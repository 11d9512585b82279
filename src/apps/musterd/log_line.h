// Writes the controller's log to standard error.
#pragma once

#include <string>

namespace muster::daemon {

void log_line(const std::string& text);
/// Writes the text and ends the process with code 1.
[[noreturn]] void die(const std::string& text);

}  // namespace muster::daemon

// What the controller says of itself, on standard error.
#pragma once

#include <string>

namespace muster::daemon {

void log_line(const std::string& text);
/// Says so and ends the process with code 1.
[[noreturn]] void die(const std::string& text);

}  // namespace muster::daemon

// What people should read: one line on standard error, and the time as the wire and the files have
// it.
#pragma once

#include <string>

namespace muster::core {

void log_line(const std::string& text);
/// Seconds since the epoch, to the microsecond.
double now();
/// In the form of RFC 3339: 2025-01-02T03:04:05.123456+00:00.
std::string time_text(double seconds);

}  // namespace muster::core

#include "log.h"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>

namespace muster::core {

void log_line(const std::string& text) { std::fprintf(stderr, "muster: %s\n", text.c_str()); }

double now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<double>(std::chrono::duration_cast<std::chrono::microseconds>(since).count()) /
         1e6;
}

std::string time_text(double seconds) {
  const auto micros = static_cast<std::int64_t>(std::llround(seconds * 1e6));
  const auto whole = static_cast<std::time_t>(micros / 1'000'000);
  std::tm parts{};
  ::gmtime_r(&whole, &parts);
  char text[80];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%06d+00:00", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>(micros % 1'000'000));
  return text;
}

}  // namespace muster::core

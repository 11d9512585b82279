#include "model/task_log.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(TaskLog, GuessesTheLevelWhereLinesSayIt) {
  const std::pair<const char*, LogLevel> lines[] = {
      {"INFO: ready", LogLevel::kInfo},
      {"WARNING:root:careful", LogLevel::kWarning},
      {"[ERROR] lost", LogLevel::kError},
      {"  DEBUG x", LogLevel::kDebug},
      {"2024-05-06 07:08:09,123 - trainer - WARNING - slow", LogLevel::kWarning},
      {"2024-05-06T07:08:09Z CRITICAL gone", LogLevel::kCritical},
      {"[2024-05-06 07:08:09] FATAL gone", LogLevel::kCritical},
      {"[rank=3] INFO: step 5", LogLevel::kInfo},
      {"W0506 07:08:09.123 1 file.cc:3] careful", LogLevel::kWarning},
      {"E0506 07:08", LogLevel::kError},
      {"time=1 level=warn msg=x", LogLevel::kWarning},
      {"level=\"error\"", LogLevel::kError},
      {"error: no such file", LogLevel::kError},
      {"TRACE", LogLevel::kTrace},
      {"Traceback (most recent call last):", LogLevel::kError},
      {"INFORMATION is not a level", LogLevel::kUnspecified},
      {"there was no ERROR in it", LogLevel::kUnspecified},
      {"errors: 0", LogLevel::kUnspecified},
      {"sublevel=info", LogLevel::kUnspecified},
      {"", LogLevel::kUnspecified},
      {"\xff\xfe\x00 12", LogLevel::kUnspecified},
      {"W05", LogLevel::kUnspecified},
  };
  for (const auto& [line, level] : lines)
    EXPECT_EQ(log_level_name(guessed_level(line)), log_level_name(level)) << line;
}

}  // namespace
}  // namespace muster

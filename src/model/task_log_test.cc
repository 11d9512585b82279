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

TEST(TaskLog, LevelsHaveDeterminedsNames) {
  EXPECT_EQ(log_level_name(LogLevel::kUnspecified), "LOG_LEVEL_UNSPECIFIED");
  EXPECT_EQ(log_level_name(LogLevel::kCritical), "LOG_LEVEL_CRITICAL");
  EXPECT_EQ(log_level_name(static_cast<LogLevel>(99)), "LOG_LEVEL_UNSPECIFIED");
}

TEST(TaskLog, OnlyTheBeginningOfALineIsLookedAt) {
  const std::string padding(116, '-');
  EXPECT_EQ(guessed_level(padding.substr(0, 115) + " INFO"), LogLevel::kInfo) << "120 bytes";
  EXPECT_EQ(guessed_level(padding + " - ERROR x"), LogLevel::kUnspecified);
  EXPECT_EQ(guessed_level(std::string(1'000'000, 'x') + " ERROR"), LogLevel::kUnspecified);
}

TEST(TaskLog, GlogsLettersNeedADateBehindThem) {
  EXPECT_EQ(guessed_level("I0506 x"), LogLevel::kInfo);
  EXPECT_EQ(guessed_level("F0506 x"), LogLevel::kCritical);
  for (const char* line : {"X0506 x", "I05a6 x", "I0506x", "I0506"})
    EXPECT_EQ(guessed_level(line), LogLevel::kUnspecified) << line;
}

TEST(TaskLog, SourcesTellStepsAndNodesApart) {
  EXPECT_EQ(log_source(0, 0), 0U);
  EXPECT_NE(log_source(1, 0), log_source(0, 1));
  EXPECT_EQ(log_source(UINT32_MAX, UINT32_MAX), UINT64_MAX);
  const LogFragment fragment{
      {LogOwnerKind::kTrial, 9}, 2, 3, LogStream::kStderr, 0, "x", {}, {}, 5};
  EXPECT_EQ(fragment.id(), (LogStreamId{{LogOwnerKind::kTrial, 9}, 2, 3, LogStream::kStderr, 5}));
}

}  // namespace
}  // namespace muster

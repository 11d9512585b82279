// The output of tasks: what is received of it, and the lines that queries return. It is stored by
// src/store/logs/log_store.h.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace muster {

/// The kind of owner that output has. Numbers are part of the store's format.
enum class LogOwnerKind : std::uint8_t { kJob = 0, kTrial = 1 };
/// A job or a trial, by its id.
struct LogOwner {
  LogOwnerKind kind = LogOwnerKind::kJob;
  std::uint32_t id = 0;
  friend constexpr auto operator<=>(const LogOwner&, const LogOwner&) = default;
};

enum class LogStream : std::uint8_t { kStdout = 0, kStderr = 1 };

enum class LogLevel : std::uint8_t {
  kUnspecified = 0,
  kTrace = 1,
  kDebug = 2,
  kInfo = 3,
  kWarning = 4,
  kError = 5,
  kCritical = 6
};
/// Returns Determined's name, e.g. "LOG_LEVEL_INFO".
std::string_view log_level_name(LogLevel level);
/// The level that a line states where lines usually do: `INFO: ...`, `[ERROR] ...`, `2024-05-06
/// 07:08:09,123 - name - WARNING
/// - ...`, `W0506 07:08:09 ...`, `level=info ...`, `error: ...`. Cost: the line's first 120 bytes.
LogLevel guessed_level(std::string_view line);

/// One stream of bytes, in the order in which its source wrote them. Lines of several sources may
/// have the same rank.
struct LogStreamId {
  LogOwner owner;
  std::uint32_t run = 1;
  std::uint32_t rank = 0;
  LogStream stream = LogStream::kStdout;
  std::uint64_t source = 0;  ///< of a run, whatever else tells its sequences apart: see log_source
  friend constexpr auto operator<=>(const LogStreamId&, const LogStreamId&) = default;
};
/// Returns the number of the source that one node's part of one step is.
constexpr std::uint64_t log_source(std::uint32_t step, std::uint32_t node_rank) {
  return (std::uint64_t{node_rank} << 32) | step;
}

/// A piece of one task's output, `offset` bytes after the first byte of its stream.
struct LogFragment {
  LogOwner owner;
  std::uint32_t run = 1;
  std::uint32_t rank = 0;
  LogStream stream = LogStream::kStdout;
  std::uint64_t offset = 0;
  std::string bytes;  ///< of any content
  TimePoint received_time;
  bool is_end = false;  ///< nothing follows: what has no line feed yet is a line. Passed over where
                        ///< more is known already
  std::uint64_t source = 0;
  LogStreamId id() const { return {owner, run, rank, stream, source}; }
};

/// One line. A line of more bytes than the store's limit becomes several, each but the first marked
/// as a continuation.
struct LogLine {
  std::uint64_t id = 0;  ///< rises with arrival over all streams of an owner, from 1, without a gap
  std::uint32_t run = 0;
  std::uint32_t rank = 0;
  LogStream stream = LogStream::kStdout;
  LogLevel level = LogLevel::kUnspecified;
  bool is_continuation = false;
  bool is_marker = false;  ///< not of the task: says what is missing here
  TimePoint time;          ///< when its first byte was received
  std::string text;        ///< without its end; as the task wrote it, be it UTF-8 or not
};

/// Says which lines are wanted. An empty list: all.
struct LogFilter {
  std::vector<std::uint32_t> ranks;
  std::vector<std::uint32_t> runs;
  std::vector<LogStream> streams;
  std::vector<LogLevel> levels;
  TimePoint first_time;  ///< inclusive
  TimePoint last_time = TimePoint::never();
  std::string text;       ///< what a line must contain; empty: anything
  bool is_regex = false;  ///< `text` is a regular expression as RE2 has them, matched within a line
  bool is_case_ignored = false;
};

inline constexpr std::uint64_t kLastLogLine = std::numeric_limits<std::uint64_t>::max();

struct LogQuery {
  LogOwner owner;
  LogFilter filter;
  /// The first line to return when reading forward; when reading backward, the line behind the
  /// first to return.
  std::uint64_t from = 0;
  bool is_backward = false;
  std::size_t lines_max = 1'000;
  /// About how much text one call looks through, which bounds its time.
  std::size_t bytes_max = std::size_t{16} << 20;
};

/// A page of lines. `next` is where the next call continues, with the same query. At the end of a
/// forward read it is where new lines will be.
struct LogPage {
  std::vector<LogLine> lines;
  std::uint64_t next = 0;
  bool is_end = false;
};

struct LogSize {
  LogOwner owner;
  std::uint64_t lines = 0;
  std::uint64_t text_bytes = 0;    ///< of the lines
  std::uint64_t stored_bytes = 0;  ///< compressed, with filters; without what is not compressed yet
};

}  // namespace muster

// Splits one stream of one task into lines. It knows how far the stream has been received, and the
// bytes of its last line that have no end yet.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/task_log.h"
#include "store/files/byte_stream.h"
#include "store/logs/log_chunk.h"

namespace muster::logs {

/// The longest line; a longer one is cut, at the boundary of a UTF-8 character where there is one.
/// Units: bytes.
inline constexpr std::size_t kLineBytesMax = std::size_t{16} << 10;

/// Names a stream of a task of an owner, and its source.
struct StreamKey {
  std::uint32_t run = 0;
  std::uint32_t rank = 0;
  LogStream stream = LogStream::kStdout;
  std::uint64_t source = 0;
  friend constexpr auto operator<=>(const StreamKey&, const StreamKey&) = default;
};

/// Splits a stream. A line ends with a line feed, with a carriage return (a progress bar drawn
/// anew), or with both. What the lines are depends on the fragments alone, not on how the bytes are
/// spread over them.
class LineSplitter {
 public:
  std::uint64_t next_offset() const { return next_offset_; }
  /// Returns what has come of a line without an end; empty: nothing.
  std::string_view unfinished() const { return unfinished_; }

  /// Adds the whole lines that these bytes end. What was received before is passed over; what is
  /// missing before them ends the unfinished line and leaves a marker.
  void accept(const StreamKey& key, const LogFragment& fragment, LogChunk& lines);
  /// Adds what has no end as a line.
  void finish(const StreamKey& key, LogChunk& lines);
  LogLine unfinished_line(const StreamKey& key) const;

  void write(ByteWriter& out) const;
  static LineSplitter read(ByteReader& in);

 private:
  LineHead head(const StreamKey& key) const;
  void add_text(const StreamKey& key, std::string_view text, std::int64_t time_us, LogChunk& lines);
  void emit(const StreamKey& key, std::string_view text, bool is_cut, LogChunk& lines);
  void mark_gap(const StreamKey& key, std::uint64_t bytes, std::int64_t time_us, LogChunk& lines);

  std::uint64_t next_offset_ = 0;
  std::string unfinished_;
  std::int64_t time_us_ = 0;                 ///< of the first byte of the line under way
  LogLevel level_ = LogLevel::kUnspecified;  ///< of a line that was cut
  bool is_continuation_ = false;
  bool is_after_return_ = false;  ///< a line feed that comes now belongs to the line before
};

}  // namespace muster::logs

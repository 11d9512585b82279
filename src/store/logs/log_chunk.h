// Lines of one owner in the order of their arrival: they are compressed together, and searched at
// once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/task_log.h"

namespace muster::logs {

/// The size of a full chunk's text. Units: bytes.
inline constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

/// A line without its text.
struct LineHead {
  std::uint32_t end = 0;  ///< of its text in the chunk's, where a line feed stands
  std::uint32_t run = 0;
  std::uint32_t rank = 0;
  LogStream stream = LogStream::kStdout;
  LogLevel level = LogLevel::kUnspecified;
  bool is_continuation = false;
  bool is_marker = false;
  std::int64_t time_us = 0;
};

/// What is known of a chunk without reading it. A mask has the bit of each value that a line has;
/// ranks count modulo 64.
struct ChunkEntry {
  std::uint64_t number = 0;  ///< among the owner's; rises
  std::uint64_t first_line = 0;
  std::uint64_t lines = 0;
  std::uint64_t text_bytes = 0;
  std::uint64_t stored_bytes = 0;  ///< of text, heads and filter as they are stored
  std::int64_t first_time_us = 0;
  std::int64_t last_time_us = 0;
  std::uint64_t rank_mask = 0;
  std::uint64_t stream_mask = 0;
  std::uint64_t level_mask = 0;
};

/// Returns a list of values as a mask; all bits when the list is empty.
template <class T>
std::uint64_t mask_of(const std::vector<T>& values) {
  std::uint64_t mask = values.empty() ? ~std::uint64_t{0} : 0;
  for (const T& value : values)
    mask |= std::uint64_t{1} << (static_cast<std::uint64_t>(value) % 64);
  return mask;
}

/// A chunk. Shape: `text` has the texts of all lines, a line feed behind each; no text holds one.
class LogChunk {
 public:
  /// Adds a line, and sets `head.end`.
  void add(LineHead head, std::string_view text);
  /// Adds lines [begin, end) of another chunk.
  void add_lines(const LogChunk& other, std::size_t begin, std::size_t end);

  std::size_t size() const { return heads_.size(); }
  const LineHead& head(std::size_t line) const { return heads_[line]; }
  std::size_t text_begin(std::size_t line) const {
    return line == 0 ? 0 : heads_[line - 1].end + std::size_t{1};
  }
  std::string_view text_of(std::size_t line) const;
  const std::string& text() const { return text_; }
  /// Returns the line whose text or line feed holds this byte. Cost: O(log n). Requires: offset <
  /// text().size().
  std::size_t line_at(std::size_t offset) const;
  /// Returns about how many bytes it needs in memory.
  std::size_t bytes() const { return text_.size() + heads_.size() * sizeof(LineHead); }
  ChunkEntry entry(std::uint64_t first_line) const;

  std::string encoded_heads() const;
  /// Decodes a chunk. Errors: kCorruption.
  static Result<LogChunk> decode(std::string_view heads, std::string text);

 private:
  std::vector<LineHead> heads_;
  std::string text_;
};

}  // namespace muster::logs

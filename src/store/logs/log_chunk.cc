// Texts and heads are stored apart: a search reads texts, and heads only where it found something.
// Heads go column by column, because equal values next to each other compress.
#include "store/logs/log_chunk.h"

#include <algorithm>

#include "store/files/byte_stream.h"
#include "store/files/compression.h"

namespace muster::logs {
namespace {

constexpr std::size_t kHeadsBytesMax = std::size_t{256} << 20;

std::uint8_t mark_of(const LineHead& head) {
  // Bits 0 to 2 the level, 3 the stream, 4 a continuation, 5 a marker.
  return static_cast<std::uint8_t>(static_cast<unsigned>(head.level) |
                                   (head.stream == LogStream::kStderr ? 8U : 0U) |
                                   (head.is_continuation ? 16U : 0U) | (head.is_marker ? 32U : 0U));
}

void set_mark(LineHead& head, std::uint8_t mark) {
  head.level = static_cast<LogLevel>(mark & 7U);
  head.stream = (mark & 8U) != 0 ? LogStream::kStderr : LogStream::kStdout;
  head.is_continuation = (mark & 16U) != 0;
  head.is_marker = (mark & 32U) != 0;
}

}  // namespace

void LogChunk::add(LineHead head, std::string_view text) {
  text_ += text;
  head.end = static_cast<std::uint32_t>(text_.size());
  text_ += '\n';
  heads_.push_back(head);
}

void LogChunk::add_lines(const LogChunk& other, std::size_t begin, std::size_t end) {
  for (std::size_t line = begin; line < end; ++line) add(other.head(line), other.text_of(line));
}

std::string_view LogChunk::text_of(std::size_t line) const {
  const std::size_t begin = text_begin(line);
  return std::string_view(text_).substr(begin, heads_[line].end - begin);
}

std::size_t LogChunk::line_at(std::size_t offset) const {
  // The head's `end` is where its text ends: the first that ends at or behind the byte holds it.
  const auto found = std::ranges::lower_bound(
      heads_, offset, {}, [](const LineHead& head) { return std::size_t{head.end}; });
  return static_cast<std::size_t>(found - heads_.begin());
}

ChunkEntry LogChunk::entry(std::uint64_t first_line) const {
  ChunkEntry entry;
  entry.first_line = first_line;
  entry.lines = size();
  entry.text_bytes = text_.size();
  // Times may go back where streams are mixed: the extremes, not the ends.
  for (const LineHead& head : heads_) {
    const bool is_first = &head == &heads_.front();
    entry.first_time_us = is_first ? head.time_us : std::min(entry.first_time_us, head.time_us);
    entry.last_time_us = is_first ? head.time_us : std::max(entry.last_time_us, head.time_us);
    // Ranks beyond 64 share bits: a mask may say yes too often.
    entry.rank_mask |= std::uint64_t{1} << (head.rank % 64);
    entry.stream_mask |= std::uint64_t{1} << static_cast<unsigned>(head.stream);
    entry.level_mask |= std::uint64_t{1} << static_cast<unsigned>(head.level);
  }
  return entry;
}

std::string LogChunk::encoded_heads() const {
  ByteWriter out;
  out.number(size());
  std::size_t begin = 0;
  for (const LineHead& head : heads_) {
    out.number(head.end - begin);
    // Behind the line feed.
    begin = head.end + std::size_t{1};
  }
  std::int64_t time = 0;
  for (const LineHead& head : heads_) {
    // Differences, which are small.
    out.signed_number(head.time_us - time);
    time = head.time_us;
  }
  for (const LineHead& head : heads_) out.byte(mark_of(head));
  for (const LineHead& head : heads_) out.number(head.rank);
  for (const LineHead& head : heads_) out.number(head.run);
  return compressed(out.bytes());
}

Result<LogChunk> LogChunk::decode(std::string_view heads, std::string text) {
  const std::string plain = TRY(decompressed(heads, kHeadsBytesMax));
  ByteReader in(plain);
  LogChunk chunk;
  chunk.heads_.resize(in.count());
  chunk.text_ = std::move(text);
  std::uint64_t end = 0;
  for (LineHead& head : chunk.heads_) {
    end += in.number();
    // Every text has its line feed in the chunk: checked before it is used as a bound.
    if (end >= chunk.text_.size())
      return fail(ErrorCode::kCorruption, "a chunk of a log is damaged", "it has lost text");
    head.end = static_cast<std::uint32_t>(end++);
  }
  std::int64_t time = 0;
  for (LineHead& head : chunk.heads_) head.time_us = time += in.signed_number();
  for (LineHead& head : chunk.heads_) set_mark(head, in.byte());
  for (LineHead& head : chunk.heads_) head.rank = static_cast<std::uint32_t>(in.number());
  for (LineHead& head : chunk.heads_) head.run = static_cast<std::uint32_t>(in.number());
  // A chunk that is not used up is as damaged as one that is too short.
  if (!in.is_ok() || !in.is_at_end() || end != chunk.text_.size())
    return fail(ErrorCode::kCorruption, "a chunk of a log is damaged");
  return chunk;
}

}  // namespace muster::logs

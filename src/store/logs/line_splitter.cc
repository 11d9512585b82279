// Lines are decided by bytes alone, so that it makes no difference how a stream was cut into
// fragments. The state of a stream, with the beginning of its last line, is stored with its chunks.
#include "store/logs/line_splitter.h"

#include <fmt/format.h>

namespace muster::logs {
namespace {

/// How many of the first `limit` bytes to take so that no UTF-8 character is cut in two.
std::size_t cut_before(std::string_view text, std::size_t limit) {
  std::size_t cut = limit;
  // Four bytes back without a beginning: it is no UTF-8, and any cut is as good.
  while (cut > limit - 4 && (static_cast<unsigned char>(text[cut]) & 0xc0U) == 0x80U) --cut;
  return cut > limit - 4 ? cut : limit;
}

}  // namespace

LineHead LineSplitter::head(const StreamKey& key) const {
  LineHead head;
  head.run = key.run;
  head.rank = key.rank;
  head.stream = key.stream;
  head.time_us = time_us_;
  head.is_continuation = is_continuation_;
  return head;
}

void LineSplitter::emit(const StreamKey& key, std::string_view text, bool is_cut, LogChunk& lines) {
  LineHead line = head(key);
  // The beginning of a line decides the level of all its parts.
  if (!is_continuation_) level_ = guessed_level(text);
  line.level = level_;
  lines.add(line, text);
  is_continuation_ = is_cut;
}

void LineSplitter::add_text(const StreamKey& key, std::string_view text, std::int64_t time_us,
                            LogChunk& lines) {
  // A line's time is when its first byte came.
  if (unfinished_.empty()) time_us_ = time_us;
  unfinished_ += text;
  std::size_t done = 0;
  while (unfinished_.size() - done > kLineBytesMax) {
    const std::size_t cut = cut_before(std::string_view(unfinished_).substr(done), kLineBytesMax);
    emit(key, std::string_view(unfinished_).substr(done, cut), true, lines);
    done += cut;
    time_us_ = time_us;
  }
  unfinished_.erase(0, done);
}

void LineSplitter::mark_gap(const StreamKey& key, std::uint64_t bytes, std::int64_t time_us,
                            LogChunk& lines) {
  // What was under way has no end any more.
  finish(key, lines);
  time_us_ = time_us;
  LineHead marker = head(key);
  marker.is_marker = true;
  lines.add(marker, fmt::format("[{} bytes of output are missing here]", bytes));
}

void LineSplitter::accept(const StreamKey& key, const LogFragment& fragment, LogChunk& lines) {
  std::string_view bytes = fragment.bytes;
  const std::int64_t time_us = fragment.received_time.microseconds();
  // All known. An equal end may still say that the stream has ended.
  if (fragment.offset + bytes.size() < next_offset_) return;
  if (fragment.offset > next_offset_) {
    mark_gap(key, fragment.offset - next_offset_, time_us, lines);
    next_offset_ = fragment.offset;
    is_after_return_ = false;
  }
  // What was received before.
  bytes.remove_prefix(static_cast<std::size_t>(next_offset_ - fragment.offset));
  next_offset_ += bytes.size();
  if (is_after_return_ && !bytes.empty()) {
    // The line feed of a CR LF whose halves came in two fragments.
    if (bytes.front() == '\n') bytes.remove_prefix(1);
    is_after_return_ = false;
  }
  while (!bytes.empty()) {
    const std::size_t end = bytes.find_first_of("\r\n");
    add_text(key, bytes.substr(0, end), time_us, lines);
    if (end == std::string_view::npos) break;
    emit(key, unfinished_, false, lines);
    unfinished_.clear();
    const bool is_return = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (is_return && !bytes.empty() && bytes.front() == '\n') bytes.remove_prefix(1);
    // Only where the very last byte was the return.
    is_after_return_ = is_return && bytes.empty() && fragment.bytes.back() == '\r';
  }
  if (fragment.is_end) finish(key, lines);
}

void LineSplitter::finish(const StreamKey& key, LogChunk& lines) {
  // A line without an end is a line when nothing follows.
  if (!unfinished_.empty()) emit(key, unfinished_, false, lines);
  unfinished_.clear();
  is_continuation_ = false;
}

LogLine LineSplitter::unfinished_line(const StreamKey& key) const {
  LogLine line;
  line.run = key.run;
  line.rank = key.rank;
  line.stream = key.stream;
  line.level = is_continuation_ ? level_ : guessed_level(unfinished_);
  line.is_continuation = is_continuation_;
  line.time = TimePoint::from_microseconds(time_us_);
  line.text = unfinished_;
  return line;
}

void LineSplitter::write(ByteWriter& out) const {
  out.number(next_offset_);
  out.text(unfinished_);
  out.signed_number(time_us_);
  out.byte(static_cast<std::uint8_t>(level_));
  // One byte of marks: 1 a continuation, 2 after a carriage return.
  out.byte(static_cast<std::uint8_t>((is_continuation_ ? 1 : 0) | (is_after_return_ ? 2 : 0)));
}

LineSplitter LineSplitter::read(ByteReader& in) {
  LineSplitter splitter;
  splitter.next_offset_ = in.number();
  splitter.unfinished_ = in.text();
  splitter.time_us_ = in.signed_number();
  splitter.level_ = static_cast<LogLevel>(in.byte());
  const std::uint8_t marks = in.byte();
  splitter.is_continuation_ = (marks & 1U) != 0;
  splitter.is_after_return_ = (marks & 2U) != 0;
  return splitter;
}

}  // namespace muster::logs

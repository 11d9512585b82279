// Frames between srun and the step supervisors: standard streams, starts, exits, signals. srun
// listens, each supervisor dials in and shows the one-time key; one connection per node of the
// step.
//
//   supervisor ─ kHello ▶ srun        srun waits until every node has said hello,
//   supervisor ◀ kStart ─ srun        then releases all tasks at once: a step starts whole or not
//   at all kOutput, kErrorOutput, kTaskExit, kNotice ▶        ◀ kInput, kInputEnd, kSignal,
//   kWindowSize kInputTaken ▶                                      once the tasks have the bytes of
//   an input frame, or will never
//                                                      read them; srun has at most kInputWindow
//                                                      bytes under way, so that neither side heaps
//                                                      up input and signals always get through
//   supervisor ─ kDone ▶ srun         after all output of all its tasks; srun then closes
// Bytes: kind u8, 3 zero bytes, task u32, size u32 (little endian), then `size` bytes. Bound:
// kFrameMax.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

enum class FrameKind : std::uint8_t {
  kHello = 1,  ///< payload: "KEY NODE_RANK"
  kStart = 2,
  kOutput = 3,  ///< of `task` (its rank in the step); binary safe
  kErrorOutput = 4,
  kTaskExit = 5,  ///< payload: the status as wait(2) gives it, decimal; "oom" follows after a blank
                  ///< when memory ran out
  kNotice = 6,    ///< a line of the supervisor itself, for srun's standard error
  kInput = 7,     ///< to `task`, or to all with kAllTasks
  kInputEnd = 8,
  kSignal = 9,       ///< `task` holds the signal's number; to all tasks of the node
  kWindowSize = 10,  ///< payload: "ROWS COLUMNS"
  kDone = 11,
  kInputTaken = 12,  ///< `task` holds the number of bytes
};
inline constexpr std::uint32_t kAllTasks = UINT32_MAX;
inline constexpr std::size_t kFrameMax = 1U << 20;
inline constexpr std::size_t kFrameHeader = 12;
/// How many bytes of input one supervisor may have that it has not consumed yet; srun exceeds it by
/// less than a frame.
inline constexpr std::size_t kInputWindow = 1U << 20;

struct Frame {
  FrameKind kind = FrameKind::kHello;
  std::uint32_t task = 0;
  std::string payload;
};

inline void append_frame(std::string& out, FrameKind kind, std::uint32_t task,
                         std::string_view payload) {
  char header[kFrameHeader] = {};
  header[0] = static_cast<char>(kind);
  const auto size = static_cast<std::uint32_t>(payload.size());
  for (unsigned i = 0; i < 4; ++i) header[4 + i] = static_cast<char>((task >> (8 * i)) & 0xff);
  for (unsigned i = 0; i < 4; ++i) header[8 + i] = static_cast<char>((size >> (8 * i)) & 0xff);
  out.append(header, kFrameHeader);
  out.append(payload);
}

/// Reads frames from a stream of bytes.
class FrameReader {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  /// Returns the next whole frame; nullopt: it is not there yet. Errors: kCorruption for an unknown
  /// kind or a size over kFrameMax.
  Result<std::optional<Frame>> next() {
    if (buffer_.size() - begin_ < kFrameHeader) return compact();
    const char* header = buffer_.data() + begin_;
    const std::uint32_t size = number(header + 8);
    const auto kind = static_cast<std::uint8_t>(header[0]);
    if (kind < 1 || kind > 12 || size > kFrameMax)
      return fail(ErrorCode::kCorruption, "not a step's stream");
    if (buffer_.size() - begin_ < kFrameHeader + size) return compact();
    Frame frame{static_cast<FrameKind>(kind), number(header + 4),
                buffer_.substr(begin_ + kFrameHeader, size)};
    begin_ += kFrameHeader + size;
    return std::optional<Frame>(std::move(frame));
  }

 private:
  static std::uint32_t number(const char* bytes) {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < 4; ++i)
      value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    return value;
  }
  Result<std::optional<Frame>> compact() {
    buffer_.erase(0, begin_);
    begin_ = 0;
    return std::optional<Frame>();
  }
  std::string buffer_;
  std::size_t begin_ = 0;
};

}  // namespace muster

// Many short texts in one buffer. A job carries some thirty texts, most of them empty; as separate strings
// they would be a kilobyte of headers for each pending job.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"

namespace muster {

/// One text per enumerator of `Key`, which counts from 0 and ends in `kCount`. Cost: `get` O(1), `set` O(size).
/// Requires: all texts together below 4 GiB.
template <class Key>
class TextPack {
 public:
  static constexpr std::size_t kSize = static_cast<std::size_t>(Key::kCount);

  std::string_view get(Key key) const {
    const auto index = static_cast<std::size_t>(key);
    const std::uint32_t begin = index == 0 ? 0 : ends_[index - 1];
    return std::string_view(buffer_).substr(begin, ends_[index] - begin);
  }
  void set(Key key, std::string_view text) {
    const auto index = static_cast<std::size_t>(key);
    const std::uint32_t begin = index == 0 ? 0 : ends_[index - 1];
    const std::uint32_t old_size = ends_[index] - begin;
    CHECK(buffer_.size() - old_size + text.size() < UINT32_MAX);
    buffer_.replace(begin, old_size, text);
    for (std::size_t i = index; i < kSize; ++i) {
      ends_[i] = static_cast<std::uint32_t>(ends_[i] + text.size() - old_size);
    }
  }
  /// All texts one after the other, and where each ends: what a record stores.
  std::string_view buffer() const { return buffer_; }
  const std::array<std::uint32_t, kSize>& ends() const { return ends_; }
  /// From a record. Requires: `ends` does not fall and ends at most at the buffer's end; checked.
  void assign(std::string_view buffer, const std::array<std::uint32_t, kSize>& ends) {
    for (std::size_t i = 0; i < kSize; ++i) CHECK(ends[i] >= (i == 0 ? 0 : ends[i - 1]) && ends[i] <= buffer.size());
    buffer_ = buffer.substr(0, ends[kSize - 1]);
    ends_ = ends;
  }
  /// Gives back the room that growing left over.
  void shrink() { buffer_.shrink_to_fit(); }
  std::size_t bytes() const { return buffer_.capacity(); }

  friend bool operator==(const TextPack&, const TextPack&) = default;

 private:
  std::string buffer_;
  std::array<std::uint32_t, kSize> ends_{};
};

}  // namespace muster

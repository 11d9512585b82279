// Many short texts in one buffer. A job carries some thirty texts, most of them empty; as separate
// strings they would be a kilobyte of headers for each pending job.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"

namespace muster {

/// One text per enumerator of `Key`, which counts from 0 and ends in `kCount`. Only texts that are
/// not empty take room. Cost: `get` O(1), `set` O(size). Requires: all texts together below 4 GiB.
template <class Key>
class TextPack {
 public:
  static constexpr std::size_t kSize = static_cast<std::size_t>(Key::kCount);
  static_assert(kSize <= 64);

  std::string_view get(Key key) const {
    if ((mask_ & bit(key)) == 0) return {};
    const std::size_t rank = rank_of(key);
    return span_of(rank);
  }
  void set(Key key, std::string_view text) {
    const std::size_t rank = rank_of(key);
    const std::size_t known = (mask_ & bit(key)) != 0 ? 1 : 0;
    const std::size_t kept = count() - known;
    Builder builder(kept + (text.empty() ? 0 : 1));
    for (std::size_t i = 0; i < rank; ++i) builder.add(span_of(i));
    if (!text.empty()) builder.add(text);
    for (std::size_t i = rank + known; i < kept + known; ++i) builder.add(span_of(i));
    mask_ = text.empty() ? mask_ & ~bit(key) : mask_ | bit(key);
    data_ = std::move(builder).finish();
  }
  /// Returns a pack of those texts alone whose bits are in `mask`.
  TextPack only(std::uint64_t mask) const {
    TextPack pack;
    pack.mask_ = mask_ & mask;
    Builder builder(pack.count());
    for (std::size_t i = 0, key = 0; key < kSize; ++key) {
      if ((mask_ & (1ULL << key)) == 0) continue;
      if ((mask & (1ULL << key)) != 0) builder.add(span_of(i));
      ++i;
    }
    pack.data_ = std::move(builder).finish();
    return pack;
  }

  /// Returns a pack of texts that are given at once: one for each key, empty where there is none.
  /// Cost: O(size), once.
  static TextPack of(const std::array<std::string_view, kSize>& texts) {
    TextPack pack;
    for (std::size_t key = 0; key < kSize; ++key)
      pack.mask_ |= std::uint64_t{!texts[key].empty()} << key;
    Builder builder(pack.count());
    for (const std::string_view text : texts) {
      if (!text.empty()) builder.add(text);
    }
    pack.data_ = std::move(builder).finish();
    return pack;
  }

  /// The bits of the texts that are there. A record stores these and the texts in the order of the
  /// keys.
  std::uint64_t mask() const { return mask_; }
  std::size_t count() const { return static_cast<std::size_t>(std::popcount(mask_)); }
  std::string_view span_of(std::size_t rank) const {
    const std::uint32_t begin = rank == 0 ? 0 : end_at(rank - 1);
    return std::string_view(data_).substr(count() * sizeof(std::uint32_t) + begin,
                                          end_at(rank) - begin);
  }
  /// Returns all texts one after the other.
  std::string_view buffer() const {
    return std::string_view(data_).substr(count() * sizeof(std::uint32_t));
  }
  /// Sets the texts from those of a record. `ends`: where each text that is there ends in `buffer`.
  /// Requires: as many as bits in `mask`, none beyond kSize, rising, the last at most the buffer's
  /// size; checked.
  void assign(std::uint64_t mask, std::span<const std::uint32_t> ends, std::string_view buffer) {
    CHECK(std::bit_width(mask) <= kSize);
    CHECK(static_cast<std::size_t>(std::popcount(mask)) == ends.size());
    mask_ = mask;
    Builder builder(ends.size());
    std::uint32_t begin = 0;
    for (const std::uint32_t end : ends) {
      CHECK(begin < end && end <= buffer.size());
      builder.add(buffer.substr(begin, end - begin));
      begin = end;
    }
    data_ = std::move(builder).finish();
  }
  std::size_t bytes() const { return data_.capacity(); }

  friend bool operator==(const TextPack&, const TextPack&) = default;

 private:
  static constexpr std::uint64_t bit(Key key) { return 1ULL << static_cast<std::size_t>(key); }
  std::size_t rank_of(Key key) const {
    return static_cast<std::size_t>(std::popcount(mask_ & (bit(key) - 1)));
  }
  std::uint32_t end_at(std::size_t rank) const {
    std::uint32_t end = 0;
    std::memcpy(&end, data_.data() + rank * sizeof end, sizeof end);
    return end;
  }

  /// Lays out `data_`: the ends of the texts, then the texts.
  class Builder {
   public:
    explicit Builder(std::size_t count)
        : head_(count * sizeof(std::uint32_t)), data_(head_, '\0') {}
    void add(std::string_view text) {
      CHECK(data_.size() - head_ + text.size() < UINT32_MAX);
      data_ += text;
      const auto end = static_cast<std::uint32_t>(data_.size() - head_);
      std::memcpy(data_.data() + next_, &end, sizeof end);
      next_ += sizeof end;
    }
    std::string finish() && {
      data_.shrink_to_fit();
      return std::move(data_);
    }

   private:
    std::size_t head_;
    std::size_t next_ = 0;
    std::string data_;
  };

  std::uint64_t mask_ = 0;
  std::string data_;
};

}  // namespace muster

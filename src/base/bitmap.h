// A growable set of small whole numbers: the CPUs or devices of one node. Values, compared and
// copied.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace muster {

/// A set of indices from 0 upwards, as 64-bit words that reach as far as the highest member.
/// Trailing zero words are never stored, so equal sets compare equal. Cost: O(highest member / 64)
/// for whole sets, O(1) for one index. No index is out of range; a set takes an eighth of a byte
/// for each index up to its highest, so indices must be small.
class Bitmap {
 public:
  Bitmap() = default;
  /// The set {first, ..., first + count - 1}.
  static Bitmap range(std::size_t first, std::size_t count) {
    Bitmap result;
    for (std::size_t i = first; i < first + count; ++i) result.set(i);
    return result;
  }
  /// The set whose words() these are; trailing zero words may be there.
  static Bitmap from_words(std::vector<std::uint64_t> words) {
    Bitmap result;
    result.words_ = std::move(words);
    result.trim();
    return result;
  }

  bool test(std::size_t index) const {
    const std::size_t word = index / 64;
    return word < words_.size() && ((words_[word] >> (index % 64)) & 1U) != 0;
  }
  void set(std::size_t index) {
    if (index / 64 >= words_.size()) words_.resize(index / 64 + 1, 0);
    words_[index / 64] |= std::uint64_t{1} << (index % 64);
  }
  void reset(std::size_t index) {
    if (index / 64 >= words_.size()) return;
    words_[index / 64] &= ~(std::uint64_t{1} << (index % 64));
    trim();
  }
  /// The number of members.
  std::size_t count() const {
    std::size_t total = 0;
    for (const std::uint64_t word : words_) total += static_cast<std::size_t>(std::popcount(word));
    return total;
  }
  bool empty() const { return words_.empty(); }
  bool intersects(const Bitmap& other) const {
    const std::size_t common =
        words_.size() < other.words_.size() ? words_.size() : other.words_.size();
    for (std::size_t i = 0; i < common; ++i) {
      if ((words_[i] & other.words_[i]) != 0) return true;
    }
    return false;
  }
  /// True when every index of `other` is in this set.
  bool contains(const Bitmap& other) const {
    if (other.words_.size() > words_.size()) return false;
    for (std::size_t i = 0; i < other.words_.size(); ++i) {
      if ((other.words_[i] & ~words_[i]) != 0) return false;
    }
    return true;
  }
  /// |= is union, -= below difference, &= intersection.
  Bitmap& operator|=(const Bitmap& other) {
    if (other.words_.size() > words_.size()) words_.resize(other.words_.size(), 0);
    for (std::size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
    return *this;
  }
  Bitmap& operator-=(const Bitmap& other) {
    for (std::size_t i = 0; i < words_.size() && i < other.words_.size(); ++i) {
      words_[i] &= ~other.words_[i];
    }
    trim();
    return *this;
  }
  Bitmap& operator&=(const Bitmap& other) {
    if (words_.size() > other.words_.size()) words_.resize(other.words_.size());
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
    trim();
    return *this;
  }

  /// Calls `visit(index)` for every member, in rising order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      for (std::uint64_t word = words_[w]; word != 0; word &= word - 1) {
        visit(w * 64 + static_cast<std::size_t>(std::countr_zero(word)));
      }
    }
  }
  /// The members in rising order.
  std::vector<std::size_t> indices() const {
    std::vector<std::size_t> result;
    for_each([&](std::size_t index) { result.push_back(index); });
    return result;
  }
  /// The lowest `count` members; all of them where there are fewer.
  Bitmap lowest(std::size_t count) const {
    Bitmap result;
    for_each([&](std::size_t index) {
      if (count > 0) {
        result.set(index);
        --count;
      }
    });
    return result;
  }
  /// Member i is bit i % 64 of word i / 64. The last word is not zero.
  const std::vector<std::uint64_t>& words() const { return words_; }

  friend bool operator==(const Bitmap&, const Bitmap&) = default;

 private:
  void trim() {
    while (!words_.empty() && words_.back() == 0) words_.pop_back();
  }
  std::vector<std::uint64_t> words_;
};

}  // namespace muster

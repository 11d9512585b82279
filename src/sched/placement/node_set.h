// Sets of nodes as fixed-width bitmaps: as wide as the cluster, so that set algebra is one pass
// over words.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/ids.h"

namespace muster::sched {

/// A set of node indices below `size()`. Requires: both sides of every operator are equally wide.
/// Cost: O(size / 64) for algebra, O(1) for one node.
class NodeSet {
 public:
  NodeSet() = default;
  explicit NodeSet(std::size_t size) : size_(size), words_((size + 63) / 64, 0) {}

  std::size_t size() const { return size_; }
  bool test(NodeIndex node) const {
    return ((words_[node.value() / 64] >> (node.value() % 64)) & 1U) != 0;
  }
  void set(NodeIndex node) { words_[node.value() / 64] |= bit(node); }
  void reset(NodeIndex node) { words_[node.value() / 64] &= ~bit(node); }
  void put(NodeIndex node, bool is_member) { is_member ? set(node) : reset(node); }

  NodeSet& operator&=(const NodeSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
    return *this;
  }
  NodeSet& operator|=(const NodeSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
    return *this;
  }
  NodeSet& operator-=(const NodeSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= ~other.words_[i];
    return *this;
  }
  friend NodeSet operator&(NodeSet a, const NodeSet& b) { return a &= b; }
  friend NodeSet operator-(NodeSet a, const NodeSet& b) { return a -= b; }

  /// Returns the lowest member that is not in `other`. Cost: ends there.
  std::optional<NodeIndex> first_outside(const NodeSet& other) const {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      const std::uint64_t word = words_[w] & ~other.words_[w];
      if (word != 0)
        return NodeIndex(static_cast<std::uint32_t>(w * 64) +
                         static_cast<std::uint32_t>(std::countr_zero(word)));
    }
    return std::nullopt;
  }
  /// True when the sets have a node in common. Cost: ends at the first one.
  bool intersects(const NodeSet& other) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if ((words_[i] & other.words_[i]) != 0) return true;
    }
    return false;
  }
  /// True when every member of `other` is a member.
  bool contains(const NodeSet& other) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if ((other.words_[i] & ~words_[i]) != 0) return false;
    }
    return true;
  }
  bool empty() const {
    for (const std::uint64_t word : words_) {
      if (word != 0) return false;
    }
    return true;
  }
  std::uint32_t count() const {
    int total = 0;
    for (const std::uint64_t word : words_) total += std::popcount(word);
    return static_cast<std::uint32_t>(total);
  }
  /// Calls `visit(NodeIndex)` for every member in rising order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      for (std::uint64_t word = words_[w]; word != 0; word &= word - 1) {
        visit(NodeIndex(static_cast<std::uint32_t>(w * 64) +
                        static_cast<std::uint32_t>(std::countr_zero(word))));
      }
    }
  }
  /// Returns the lowest members, at most `limit`, in rising order.
  std::vector<NodeIndex> first(std::size_t limit) const {
    std::vector<NodeIndex> result;
    for_each([&](NodeIndex node) {
      if (result.size() < limit) result.push_back(node);
    });
    return result;
  }

  friend bool operator==(const NodeSet&, const NodeSet&) = default;

 private:
  static std::uint64_t bit(NodeIndex node) { return std::uint64_t{1} << (node.value() % 64); }
  std::size_t size_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace muster::sched

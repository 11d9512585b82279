// Holds scripts and environments that were used of late, so that a launch need not ask the store.
#pragma once

#include <cstddef>
#include <list>
#include <unordered_map>

#include "model/ids.h"
#include "model/request.h"

namespace muster {

/// The cache drops the least recently used first. Bound: kBytesMax, and one blob however large.
class BlobCache {
 public:
  static constexpr std::size_t kBytesMax = 2U << 20;
  void put(BlobId id, Bytes bytes) {
    if (entries_.contains(id)) return;
    order_.push_front(id);
    bytes_ += bytes->size();
    entries_.emplace(id, Entry{std::move(bytes), order_.begin()});
    while (bytes_ > kBytesMax && order_.size() > 1) drop_oldest();
  }
  /// Returns the bytes; null: they are not here.
  Bytes get(BlobId id) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second.place);
    return found->second.bytes;
  }

 private:
  struct Entry {
    Bytes bytes;
    std::list<BlobId>::iterator place;
  };
  void drop_oldest() {
    const auto oldest = entries_.find(order_.back());
    bytes_ -= oldest->second.bytes->size();
    entries_.erase(oldest);
    order_.pop_back();
  }
  std::list<BlobId> order_;
  std::unordered_map<BlobId, Entry> entries_;
  std::size_t bytes_ = 0;
};

}  // namespace muster

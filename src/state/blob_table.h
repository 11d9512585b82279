// Scripts and environments that the state names: how often, and what they are. Their bytes are the
// store's.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "model/ids.h"

namespace muster {

struct BlobRecord {
  std::string digest;  ///< SHA-256, 32 bytes
  std::uint64_t size = 0;
  std::uint32_t references = 0;
};

/// Changed by ClusterState::apply alone. By id in chunks, as JobTable is: every replica has one, so
/// an entry must be small. Invariant: `hash()` is the sum of the entries' hashes.
class BlobTable {
 public:
  void add(BlobId id, const std::string& digest, std::uint64_t size);
  void reference(BlobId id);
  /// Takes one reference back. True: nothing names it any more, and it is forgotten.
  bool release(BlobId id);
  /// The blob of that digest, or zero. Cost: O(1), but the first call makes the index: only the
  /// writer asks.
  BlobId find(const std::string& digest) const;
  /// Its bytes turned out to be damaged: whoever comes with the right ones is given another. Only
  /// for the writer; no part of the state.
  void do_not_share(BlobId id);
  std::optional<BlobRecord> record(BlobId id) const;
  void restore(BlobId id, const BlobRecord& record);
  std::uint64_t hash() const { return hash_; }

  /// Calls `visit(BlobId, BlobRecord)` for each, in rising order of ids.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      if (chunks_[c] == nullptr) continue;
      for (std::size_t i = 0; i < kChunk; ++i) {
        if (chunks_[c]->entries[i].is_there)
          visit(BlobId(c * kChunk + i), chunks_[c]->entries[i].record());
      }
    }
  }

 private:
  static constexpr std::size_t kChunk = 64;
  struct Entry {
    std::array<char, 32> digest{};
    std::uint64_t size = 0;
    std::uint32_t references = 0;
    bool is_there = false;
    std::string_view digest_view() const { return {digest.data(), digest.size()}; }
    BlobRecord record() const { return {std::string(digest_view()), size, references}; }
  };
  struct Chunk {
    std::array<Entry, kChunk> entries;
    std::size_t used = 0;
  };
  const Entry* find_entry(BlobId id) const;
  Entry& entry_at(BlobId id);
  void make_index() const;
  void make_findable(BlobId id) const;
  void hide(BlobId id) const;

  /// Looks blobs up by their digest, which stays in the table.
  struct ByDigest {
    using is_transparent = void;
    const BlobTable* table;
    std::string_view of(BlobId id) const { return table->find_entry(id)->digest_view(); }
    static std::string_view of(std::string_view digest) { return digest; }
    std::size_t operator()(const auto& key) const { return std::hash<std::string_view>()(of(key)); }
    bool operator()(const auto& a, const auto& b) const { return of(a) == of(b); }
  };
  using Index = std::unordered_set<BlobId, ByDigest, ByDigest>;

  std::vector<std::unique_ptr<Chunk>> chunks_;
  mutable std::optional<Index> by_digest_;
  std::uint64_t hash_ = 0;
};

}  // namespace muster

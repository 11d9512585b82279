// Scripts and environments (blobs) that jobs and steps of the state name: digest, size and number
// of references of each. Their bytes are in the journal's store and never here.
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

/// A blob is added without references, referenced by each job or step that uses it, and removed
/// with its last reference. Changed by ClusterState alone; a CHECK stops the process where an id is
/// unknown or given twice. Stored in chunks by id, as in JobTable: every replica has a table, so an
/// entry must be small. Invariant: `hash()` is the sum of the entries' hashes. Thread: one, even
/// for const calls, because find() builds the index.
class BlobTable {
 public:
  /// Adds a blob without references. Units: `size` in bytes. Requires: the digest has 32 bytes; no
  /// blob has the id.
  void add(BlobId id, const std::string& digest, std::uint64_t size);
  /// Counts one more reference. Requires: the blob is there.
  void reference(BlobId id);
  /// Removes one reference. True: it was the last, and the entry is gone; the caller has the bytes
  /// deleted. Requires: the blob has a reference.
  bool release(BlobId id);
  /// Returns the blob of that digest, so that equal bytes are stored once; of several the one added
  /// last; id 0: there is none. Cost: O(1), but the first call builds an index of all blobs. A
  /// table that is never asked has none.
  BlobId find(const std::string& digest) const;
  /// Lets find() not return this blob from now on, because its stored bytes are damaged: a client
  /// that sends the right bytes gets a new blob. This is no part of the state or of its hash: the
  /// writer repeats it at each start. An unknown id is ignored.
  void do_not_share(BlobId id);
  /// Returns the blob's record. Nullopt: no such blob.
  std::optional<BlobRecord> record(BlobId id) const;
  /// Adds a blob with the references that it had. Requires: as add().
  void restore(BlobId id, const BlobRecord& record);
  std::uint64_t hash() const { return hash_; }

  /// Calls `visit(BlobId, BlobRecord)` for each blob, in rising order of ids.
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

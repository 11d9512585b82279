// All documents.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "model/catalog.h"

namespace muster {

inline constexpr std::size_t kDocumentKinds = 7;

/// Changed by ClusterState::apply alone. Invariant: `hash()` is the sum of the documents' hashes.
class Catalog {
 public:
  /// Null: there is none.
  DocumentRef find(DocumentKind kind, std::uint32_t id) const;
  /// The one of that name, within its parent. Null: there is none. Cost: O(documents of the kind).
  DocumentRef find(DocumentKind kind, std::uint32_t parent, std::string_view name) const;
  /// All of a kind by id; with a parent, those below it. Cost: as find by name.
  std::vector<DocumentRef> all(DocumentKind kind, std::uint32_t parent = 0) const;
  /// True when a document names the checkpoint.
  bool names_checkpoint(std::string_view uuid) const { return checkpoints_.contains(uuid); }
  /// The next free id of a kind: given once.
  std::uint32_t next(DocumentKind kind) const { return next_[static_cast<std::size_t>(kind)]; }
  const std::array<std::uint32_t, kDocumentKinds>& next_ids() const { return next_; }

  void put(DocumentRef document);
  void remove(DocumentKind kind, std::uint32_t id);
  void restore_next(DocumentKind kind, std::uint32_t id) {
    next_[static_cast<std::size_t>(kind)] = id;
  }

  const std::map<std::pair<DocumentKind, std::uint32_t>, DocumentRef>& documents() const {
    return documents_;
  }
  std::uint64_t hash() const { return hash_; }

 private:
  void count_checkpoints(const Document& document, int step);

  std::map<std::pair<DocumentKind, std::uint32_t>, DocumentRef> documents_;
  std::map<std::string, int, std::less<>> checkpoints_;
  std::array<std::uint32_t, kDocumentKinds> next_ = {1, 1, 1, 1, 1, 1, 1};
  std::uint64_t hash_ = 0;
};

}  // namespace muster

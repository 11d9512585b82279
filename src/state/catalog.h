// Documents of the catalog (models, templates, projects and their like; model/catalog.h says
// which): small objects with an id, a name and a body that the state stores and does not interpret.
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

/// A document is immutable: put() replaces it as a whole, and a DocumentRef that somebody holds
/// shows what it was. Changed by ClusterState alone. Invariant: `hash()` is the sum of the
/// documents' hashes; next_ids() are hashed by ClusterState.
class Catalog {
 public:
  /// Returns the document; null: there is none. Cost: O(log documents).
  DocumentRef find(DocumentKind kind, std::uint32_t id) const;
  /// Returns the document of exactly that name below `parent`, or below any parent where that is 0;
  /// of several the one with the lowest id. Null: there is none. Cost: O(documents of the kind).
  DocumentRef find(DocumentKind kind, std::uint32_t parent, std::string_view name) const;
  /// Returns all documents of a kind below `parent`, or below any where that is 0, in rising order
  /// of ids. Cost: O(documents of the kind).
  std::vector<DocumentRef> all(DocumentKind kind, std::uint32_t parent = 0) const;
  /// True when a document names the checkpoint, so that it must not be deleted. Cost: O(log names).
  bool names_checkpoint(std::string_view uuid) const { return checkpoints_.contains(uuid); }
  /// Returns the id for the next new document of a kind: above every id that the kind has had, so
  /// that none is given twice, also after remove().
  std::uint32_t next(DocumentKind kind) const { return next_[static_cast<std::size_t>(kind)]; }
  const std::array<std::uint32_t, kDocumentKinds>& next_ids() const { return next_; }

  /// Adds the document or replaces the one of its kind and id; next() then lies above its id.
  /// Requires: it is not null.
  void put(DocumentRef document);
  /// Removes a document. Requires: it is there; checked.
  void remove(DocumentKind kind, std::uint32_t id);
  /// Sets next(), when the state is restored from a checkpoint.
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

// Documents are few (people write them), so that names are found by a walk over their kind.
#include "state/catalog.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "state/state_hash.h"

namespace muster {

DocumentRef Catalog::find(DocumentKind kind, std::uint32_t id) const {
  const auto found = documents_.find({kind, id});
  return found == documents_.end() ? nullptr : found->second;
}

DocumentRef Catalog::find(DocumentKind kind, std::uint32_t parent, std::string_view name) const {
  const auto end = documents_.upper_bound({kind, std::numeric_limits<std::uint32_t>::max()});
  for (auto entry = documents_.lower_bound({kind, 0}); entry != end; ++entry) {
    if ((parent == 0 || entry->second->parent == parent) && entry->second->name == name)
      return entry->second;
  }
  return nullptr;
}

std::vector<DocumentRef> Catalog::all(DocumentKind kind, std::uint32_t parent) const {
  std::vector<DocumentRef> found;
  const auto end = documents_.upper_bound({kind, std::numeric_limits<std::uint32_t>::max()});
  for (auto entry = documents_.lower_bound({kind, 0}); entry != end; ++entry) {
    if (parent == 0 || entry->second->parent == parent) found.push_back(entry->second);
  }
  return found;
}

void Catalog::put(DocumentRef document) {
  std::uint32_t& next = next_[static_cast<std::size_t>(document->kind)];
  // Also with ids from outside (imports, metadata by trial): next() stays above all.
  next = std::max(next, document->id + 1);
  hash_ += hash_of(*document);
  // Counted before the old one is taken off: a name that both have never falls to none.
  count_checkpoints(*document, 1);
  const auto [entry, is_new] = documents_.try_emplace({document->kind, document->id}, document);
  if (is_new) return;
  const DocumentRef known = std::exchange(entry->second, std::move(document));
  hash_ -= hash_of(*known);
  count_checkpoints(*known, -1);
}

void Catalog::remove(DocumentKind kind, std::uint32_t id) {
  const auto entry = documents_.find({kind, id});
  CHECK(entry != documents_.end(), "no document {} of kind {}", id, static_cast<int>(kind));
  hash_ -= hash_of(*entry->second);
  count_checkpoints(*entry->second, -1);
  documents_.erase(entry);
}

void Catalog::count_checkpoints(const Document& document, int step) {
  for (const std::string& uuid : document.checkpoints) {
    int& count = checkpoints_[uuid];
    count += step;
    if (count == 0) checkpoints_.erase(uuid);
  }
}

}  // namespace muster

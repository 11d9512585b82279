// Digest and size of blobs in chunks of an array, because ids rise and are dense; the index by
// digest refers back to the entries and is made at its first use.
#include "state/blob_table.h"

#include <cstring>

#include "base/check.h"
#include "base/hash.h"

namespace muster {
namespace {

std::uint64_t hash_of(BlobId id, std::string_view digest, std::uint64_t size,
                      std::uint32_t references) {
  return Hasher().add(id.value()).add(digest).add(size).add(references).digest();
}

}  // namespace

const BlobTable::Entry* BlobTable::find_entry(BlobId id) const {
  const std::size_t chunk = id.value() / kChunk;
  if (chunk >= chunks_.size() || chunks_[chunk] == nullptr) return nullptr;
  const Entry& entry = chunks_[chunk]->entries[id.value() % kChunk];
  return entry.is_there ? &entry : nullptr;
}

BlobTable::Entry& BlobTable::entry_at(BlobId id) {
  auto* entry = const_cast<Entry*>(find_entry(id));
  CHECK(entry != nullptr, "no blob {}", id.value());
  return *entry;
}

void BlobTable::add(BlobId id, const std::string& digest, std::uint64_t size) {
  restore(id, BlobRecord{digest, size, 0});
}

void BlobTable::restore(BlobId id, const BlobRecord& record) {
  CHECK(record.digest.size() == sizeof(Entry::digest), "blob {} has a digest of {} bytes",
        id.value(), record.digest.size());
  CHECK(find_entry(id) == nullptr, "blob {} is there already", id.value());
  const std::size_t chunk = id.value() / kChunk;
  if (chunk >= chunks_.size()) chunks_.resize(chunk + 1);
  if (chunks_[chunk] == nullptr) chunks_[chunk] = std::make_unique<Chunk>();
  // Digests are 32 bytes (SHA-256), stored in place: no allocation for each blob.
  Entry& entry = chunks_[chunk]->entries[id.value() % kChunk];
  std::memcpy(entry.digest.data(), record.digest.data(), entry.digest.size());
  entry.size = record.size;
  entry.references = record.references;
  entry.is_there = true;
  ++chunks_[chunk]->used;
  hash_ += hash_of(id, record.digest, record.size, record.references);
  if (by_digest_) make_findable(id);
}

void BlobTable::reference(BlobId id) {
  Entry& entry = entry_at(id);
  hash_ -= hash_of(id, entry.digest_view(), entry.size, entry.references);
  ++entry.references;
  hash_ += hash_of(id, entry.digest_view(), entry.size, entry.references);
}

bool BlobTable::release(BlobId id) {
  Entry& entry = entry_at(id);
  CHECK(entry.references > 0, "blob {} is not referenced", id.value());
  hash_ -= hash_of(id, entry.digest_view(), entry.size, entry.references);
  // The last reference: the entry goes, and the caller deletes the bytes.
  if (--entry.references > 0) {
    hash_ += hash_of(id, entry.digest_view(), entry.size, entry.references);
    return false;
  }
  if (by_digest_) hide(id);
  entry = {};
  const std::size_t chunk = id.value() / kChunk;
  // Ids rise, so that early chunks empty and are freed.
  if (--chunks_[chunk]->used == 0) chunks_[chunk].reset();
  return true;
}

/// Of two with the same digest the later is found: the earlier was damaged when that one came.
void BlobTable::make_findable(BlobId id) const {
  // Erased first: inserting would keep the older.
  by_digest_->erase(id);
  by_digest_->insert(id);
}

void BlobTable::hide(BlobId id) const {
  const auto found = by_digest_->find(id);
  if (found != by_digest_->end() && *found == id) by_digest_->erase(found);
}

void BlobTable::make_index() const {
  if (by_digest_) return;
  by_digest_.emplace(64, ByDigest{this}, ByDigest{this});
  for_each([this](BlobId id, const BlobRecord&) { make_findable(id); });
}

void BlobTable::do_not_share(BlobId id) {
  // The blob may have gone meanwhile.
  if (find_entry(id) == nullptr) return;
  make_index();
  hide(id);
}

BlobId BlobTable::find(const std::string& digest) const {
  make_index();
  const auto found = by_digest_->find(std::string_view(digest));
  return found == by_digest_->end() ? BlobId(0) : *found;
}

std::optional<BlobRecord> BlobTable::record(BlobId id) const {
  const Entry* entry = find_entry(id);
  return entry == nullptr ? std::nullopt : std::optional(entry->record());
}

}  // namespace muster

#include "base/check.h"
#include "base/hash.h"
#include "state/cluster_state.h"

namespace muster {
namespace {

std::uint64_t hash_of(BlobId id, const BlobFacts& facts) {
  return Hasher().add(id.value()).add(facts.digest).add(facts.size).add(facts.references).digest();
}

}  // namespace

void BlobTable::add(BlobId id, std::string digest, std::uint64_t size) {
  restore(id, BlobFacts{std::move(digest), size, 0});
}

void BlobTable::restore(BlobId id, BlobFacts facts) {
  by_digest_.emplace(facts.digest, id);
  hash_ += hash_of(id, facts);
  const bool is_new = blobs_.emplace(id, std::move(facts)).second;
  CHECK(is_new, "blob {} is there already", id.value());
}

void BlobTable::reference(BlobId id) {
  const auto found = blobs_.find(id);
  CHECK(found != blobs_.end(), "no blob {}", id.value());
  hash_ -= hash_of(id, found->second);
  ++found->second.references;
  hash_ += hash_of(id, found->second);
}

bool BlobTable::release(BlobId id) {
  const auto found = blobs_.find(id);
  CHECK(found != blobs_.end() && found->second.references > 0, "blob {} is not referenced", id.value());
  hash_ -= hash_of(id, found->second);
  if (--found->second.references > 0) {
    hash_ += hash_of(id, found->second);
    return false;
  }
  by_digest_.erase(found->second.digest);
  blobs_.erase(found);
  return true;
}

BlobId BlobTable::find(const std::string& digest) const {
  const auto found = by_digest_.find(digest);
  return found == by_digest_.end() ? BlobId(0) : found->second;
}

const BlobFacts* BlobTable::facts(BlobId id) const {
  const auto found = blobs_.find(id);
  return found == blobs_.end() ? nullptr : &found->second;
}

void AnswerTable::add(RequestId id, Answer answer) {
  if (!answers_.emplace(id, std::move(answer)).second) return;
  order_.push_back(id);
  while (order_.size() > kMaxAnswers) {
    answers_.erase(order_.front());
    order_.pop_front();
  }
}

void AnswerTable::expire(TimePoint now) {
  while (!order_.empty()) {
    const auto oldest = answers_.find(order_.front());
    if (oldest->second.time + kKept > now) return;
    answers_.erase(oldest);
    order_.pop_front();
  }
}

const Answer* AnswerTable::find(RequestId id) const {
  const auto found = answers_.find(id);
  return found == answers_.end() ? nullptr : &found->second;
}

}  // namespace muster

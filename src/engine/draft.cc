#include "engine/draft.h"

#include <algorithm>

namespace muster {

Reply refused(Error error) {
  Reply reply;
  reply.error = std::move(error);
  return reply;
}

/// Ids are counted in the draft and not in the state: a draft that is refused uses none up.
Draft::Draft(const ClusterState& state, TimePoint now)
    : state_(state),
      now_(std::max(now, state.time())),
      next_job_(state.next_job()),
      next_blob_(state.next_blob()),
      next_experiment_(state.next_experiment()),
      next_trial_(state.next_trial()) {}
Draft::~Draft() = default;

// Asked of the state once, then counted here.
std::uint32_t Draft::allot_document(DocumentKind kind) {
  const auto [entry, is_new] = next_documents_.try_emplace(kind, state_.catalog().next(kind));
  return entry->second++;
}

BlobId Draft::blob_for(const PreparedBlob& blob) {
  if (blob.bytes == nullptr) return BlobId(0);
  // What the journal has already is not stored a second time.
  if (const BlobId known = state_.blobs().find(blob.digest); known.value() != 0) return known;
  // Two requests of one batch may bring the same bytes.
  const auto [entry, is_new] = new_blobs_.emplace(blob.digest, next_blob_);
  if (is_new) {
    next_blob_ = BlobId(next_blob_.value() + 1);
    blobs.push_back(BlobWrite{entry->second, blob.digest, blob.bytes->size(), blob.bytes});
  }
  return entry->second;
}

void Draft::add(EventBody body) { events.push_back(std::move(body)); }

bool Draft::claim(JobId job) { return claimed_.insert(job).second; }
bool Draft::is_claimed(JobId job) const { return claimed_.contains(job); }

Bitmap Draft::remaining(const Job& array) const {
  Bitmap indices = array.array->remaining.indices;
  for (const auto& [index, element] : splits(array.id)) indices.reset(index);
  return indices;
}

const std::map<std::uint32_t, JobId>& Draft::splits(JobId array) const {
  static const std::map<std::uint32_t, JobId> kNone;
  const auto found = splits_.find(array);
  return found == splits_.end() ? kNone : found->second;
}

JobId Draft::split(JobId array, std::uint32_t index) {
  const JobId element = allot_job();
  splits_[array][index] = element;
  add(ArraySplit{array, index, element});
  return element;
}

std::optional<std::uint32_t> Draft::index_of(JobId element) const {
  for (const auto& [array, elements] : splits_) {
    for (const auto& [index, id] : elements) {
      if (id == element) return index;
    }
  }
  return std::nullopt;
}

}  // namespace muster

// What one batch of requests will do, put together before any of it is applied: either all of it happens or none.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/command.h"
#include "model/event.h"
#include "state/cluster_state.h"

namespace muster {

class Draft {
 public:
  explicit Draft(const ClusterState& state)
      : state_(state), next_job_(state.next_job()), next_blob_(state.next_blob()) {}

  const ClusterState& state() const { return state_; }
  /// The next free job id; each call gives another one.
  JobId allot_job() {
    const JobId id = next_job_;
    next_job_ = JobId(id.value() + 1);
    return id;
  }
  /// The id under which these bytes are stored: known ones are shared. Zero for none.
  BlobId blob_for(const PreparedBlob& blob) {
    if (blob.bytes == nullptr) return BlobId(0);
    if (const BlobId known = state_.blobs().find(blob.digest); known.value() != 0) return known;
    const auto [entry, is_new] = new_blobs_.emplace(blob.digest, next_blob_);
    if (is_new) {
      next_blob_ = BlobId(next_blob_.value() + 1);
      blobs.push_back(BlobWrite{entry->second, blob.digest, blob.bytes->size(), blob.bytes});
    }
    return entry->second;
  }
  void add(EventBody body) { events.push_back(std::move(body)); }

  std::vector<EventBody> events;
  std::vector<BlobWrite> blobs;

 private:
  const ClusterState& state_;
  JobId next_job_;
  BlobId next_blob_;
  std::map<std::string, BlobId> new_blobs_;
};

}  // namespace muster

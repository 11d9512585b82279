// Ids rise and jobs leave roughly in their order, so that an array of chunks is dense where jobs
// are, and early chunks are freed.
#include "state/job_table.h"

#include "base/check.h"
#include "state/state_hash.h"

namespace muster {

const Job* JobTable::find(JobId id) const {
  const std::size_t chunk = id.value() / kChunk;
  if (chunk >= chunks_.size() || chunks_[chunk] == nullptr) return nullptr;
  return chunks_[chunk]->jobs[id.value() % kChunk].get();
}

Job* JobTable::find_mutable(JobId id) { return const_cast<Job*>(std::as_const(*this).find(id)); }

Job& JobTable::insert(Job job) {
  const std::size_t chunk = job.id.value() / kChunk;
  if (chunk >= chunks_.size()) chunks_.resize(chunk + 1);
  if (chunks_[chunk] == nullptr) chunks_[chunk] = std::make_unique<Chunk>();
  auto& slot = chunks_[chunk]->jobs[job.id.value() % kChunk];
  CHECK(slot == nullptr, "job {} is there already", job.id.value());
  // On the heap of its own: addresses stay when chunks move.
  slot = std::make_unique<Job>(std::move(job));
  slot->hash = {};
  ++chunks_[chunk]->used;
  ++size_;
  rehash(*slot);
  return *slot;
}

void JobTable::erase(JobId id) {
  Job* job = find_mutable(id);
  CHECK(job != nullptr, "job {} is not there", id.value());
  hash_ -= job->hash.value;
  // An element that ran under the array's own id is in this map, too.
  if (job->array_job.value() != 0 && job->array_index) {
    const auto found = elements_.find(job->array_job);
    if (found != elements_.end()) {
      found->second.erase(*job->array_index);
      if (found->second.empty()) elements_.erase(found);
    }
  }
  const std::size_t chunk = id.value() / kChunk;
  chunks_[chunk]->jobs[id.value() % kChunk].reset();
  --size_;
  if (--chunks_[chunk]->used == 0) chunks_[chunk].reset();
}

void JobTable::rehash(Job& job) {
  const std::uint64_t fresh = hash_of(job);
  // Unsigned: a difference that wraps is right all the same.
  hash_ += fresh - job.hash.value;
  job.hash = {fresh};
}

const std::map<std::uint32_t, JobId>* JobTable::elements(JobId array) const {
  const auto found = elements_.find(array);
  return found == elements_.end() ? nullptr : &found->second;
}

}  // namespace muster

// All jobs in memory, by id. Ids rise, so the table is an array of chunks: constant-time look-up,
// iteration in the order of ids, and chunks whose jobs have all been evicted give their memory
// back.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "model/job.h"

namespace muster {

/// Changed by ClusterState::apply alone. Invariant: `hash()` is the sum of the jobs' hashes.
class JobTable {
 public:
  const Job* find(JobId id) const;
  Job* find_mutable(JobId id);
  /// Requires: no job of that id.
  Job& insert(Job job);
  void erase(JobId id);
  /// To be called after every change of a job: brings its hash into the sum. Cost: O(size of the
  /// job's hot part).
  void rehash(Job& job);

  std::size_t size() const { return size_; }
  std::uint64_t hash() const { return hash_; }

  /// The split-off elements of an array: by index, rising. Null: none.
  const std::map<std::uint32_t, JobId>* elements(JobId array) const;
  void add_element(JobId array, std::uint32_t index, JobId element) {
    elements_[array][index] = element;
  }

  /// Calls `visit(const Job&)` for every job from `first` on, in rising order of ids, until it
  /// returns false.
  template <class Visit>
  void for_each_from(JobId first, Visit&& visit) const {
    for (std::size_t c = first.value() / kChunk; c < chunks_.size(); ++c) {
      if (chunks_[c] == nullptr) continue;
      const std::size_t begin = c == first.value() / kChunk ? first.value() % kChunk : 0;
      for (std::size_t i = begin; i < kChunk; ++i) {
        const Job* job = chunks_[c]->jobs[i].get();
        if (job != nullptr && !visit(*job)) return;
      }
    }
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for_each_from(JobId(0), [&](const Job& job) {
      visit(job);
      return true;
    });
  }

 private:
  static constexpr std::size_t kChunk = 256;
  struct Chunk {
    std::array<std::unique_ptr<Job>, kChunk> jobs;
    std::size_t used = 0;
  };
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::map<JobId, std::map<std::uint32_t, JobId>> elements_;
  std::size_t size_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace muster

// All jobs in memory, by id: those that are not over, and those that are until they are evicted.
// Ids rise, so the table is an array of chunks: look-up takes constant time, iteration follows the
// ids, and a chunk whose jobs have all been evicted is freed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "model/job.h"

namespace muster {

/// Changed by ClusterState alone. A job's address stays the same until the job is erased.
/// Invariant: `hash()` is the sum of the jobs' hashes.
class JobTable {
 public:
  /// Returns the job; null: no such job, or it was evicted. Cost: O(1).
  const Job* find(JobId id) const;
  /// Returns a job to be changed, as find() does; rehash() must follow.
  Job* find_mutable(JobId id);
  /// Adds the job and hashes it. Requires: no job of that id; checked.
  Job& insert(Job job);
  /// Removes the job, and from elements() where it is an array's element. Requires: it is there;
  /// checked.
  void erase(JobId id);
  /// Replaces the job's hash in the sum: called after every change of it. Cost: O(size of the job),
  /// without its specification and steps, whose hashes it holds.
  void rehash(Job& job);

  std::size_t size() const { return size_; }
  std::uint64_t hash() const { return hash_; }

  /// Returns the elements of an array that are jobs of their own here, by index, rising. Null:
  /// there is none.
  const std::map<std::uint32_t, JobId>* elements(JobId array) const;
  void add_element(JobId array, std::uint32_t index, JobId element) {
    elements_[array][index] = element;
  }

  /// Calls `visit(const Job&)` for every job from `first` on, in rising order of ids, until it
  /// returns false. Requires: `visit` erases no job. Cost: O(highest id / 256 + jobs), because
  /// freed chunks are passed over one by one.
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
  /// Calls `visit(const Job&)` for every job, and ignores what it returns.
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

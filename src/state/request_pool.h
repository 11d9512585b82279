// Equal requests of jobs as one object: most jobs of a site ask for the same few things.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "model/job_spec.h"
#include "model/resource_request.h"

namespace muster {

/// Knows the requests that are in use. It keeps none alive: a request goes with the last who has
/// it.
class RequestPool {
 public:
  /// Returns the request in use that equals this one; if there is none, this one, which is known
  /// from then on. Cost: O(size of the request), and now and then O(requests in use).
  std::shared_ptr<const ResourceRequest> share(ResourceRequest request);
  /// Lets a specification have the request that an equal one has: `spec` is then another object,
  /// because specifications never change.
  void share(JobSpecRef& spec);
  /// Does so for many of which several may be one object, as those of an array's elements: they are
  /// one afterwards. Lifetime: within that of the pool.
  class Sharing {
   public:
    explicit Sharing(RequestPool& pool) : pool_(pool) {}
    void share(JobSpecRef& spec);

   private:
    RequestPool& pool_;
    /// What was copied, kept so that nothing else comes to stand at its address, and the copy.
    std::unordered_map<JobSpecRef, JobSpecRef> copies_;
  };
  /// Returns how many requests it knows, with those that have gone since it last looked.
  std::size_t size() const { return requests_.size(); }

 private:
  using Object = std::shared_ptr<const ResourceRequest>;
  /// Returns the equal request in use; null: there is none.
  Object find(std::uint64_t hash, const ResourceRequest& request) const;
  void add(std::uint64_t hash, const Object& object);

  std::unordered_multimap<std::uint64_t, std::weak_ptr<const ResourceRequest>> requests_;
  std::size_t sweep_at_ = 64;  ///< with so many, those that have gone are forgotten
};

}  // namespace muster

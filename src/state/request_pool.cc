#include "state/request_pool.h"

#include <algorithm>
#include <utility>

namespace muster {

RequestPool::Object RequestPool::find(std::uint64_t hash, const ResourceRequest& request) const {
  for (auto [entry, end] = requests_.equal_range(hash); entry != end; ++entry) {
    Object known = entry->second.lock();
    if (known != nullptr && *known == request) return known;
  }
  return nullptr;
}

void RequestPool::add(std::uint64_t hash, const Object& object) {
  if (requests_.size() >= sweep_at_) {
    std::erase_if(requests_, [](const auto& entry) { return entry.second.expired(); });
    // Twice those in use: as many are added before the next sweep as it looks at.
    sweep_at_ = std::max<std::size_t>(64, 2 * requests_.size());
  }
  requests_.emplace(hash, object);
}

std::shared_ptr<const ResourceRequest> RequestPool::share(ResourceRequest request) {
  const std::uint64_t hash = table_hash(request);
  if (Object known = find(hash, request)) return known;
  auto fresh = std::make_shared<const ResourceRequest>(std::move(request));
  add(hash, fresh);
  return fresh;
}

void RequestPool::share(JobSpecRef& spec) {
  const Object& own = spec->request.object();
  // What a fresh request is takes no room.
  if (own == nullptr) return;
  const std::uint64_t hash = table_hash(*own);
  const Object known = find(hash, *own);
  if (known == own) return;
  if (known == nullptr) return add(hash, own);
  auto shared = std::make_shared<JobSpec>(*spec);
  shared->request = Shared<ResourceRequest>::of(known);
  spec = std::move(shared);
}

void RequestPool::Sharing::share(JobSpecRef& spec) {
  if (const auto copy = copies_.find(spec); copy != copies_.end()) {
    spec = copy->second;
    return;
  }
  const JobSpecRef before = spec;
  pool_.share(spec);
  if (spec != before) copies_.emplace(before, spec);
}

}  // namespace muster

#include "model/resource_request.h"

#include "base/hash.h"
#include "base/members.h"

namespace muster {
namespace {

/// Lists count with their sizes, so that what stands in one of them is not taken for another's.
template <class T>
void add(Hasher& hasher, const T& value) {
  if constexpr (is_vector<T>) {
    hasher.add(value.size());
    for (const auto& each : value) add(hasher, each);
  } else if constexpr (std::is_aggregate_v<T>) {
    with_members(value, [&](const auto&... member) { (add(hasher, member), ...); });
  } else {
    hasher.add(value);
  }
}

}  // namespace

std::uint64_t table_hash(const ResourceRequest& request) {
  Hasher hasher;
  add(hasher, request);
  return hasher.digest();
}

}  // namespace muster

#include "model/resource_request.h"

#include <gtest/gtest.h>

#include <set>

#include "base/members.h"

namespace muster {
namespace {

/// Another value than a fresh one.
template <class T>
T another() {
  if constexpr (is_vector<T>) {
    return T(1);
  } else if constexpr (std::is_same_v<T, FeatureConstraint>) {
    return {{{"ib"}}};
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(1);
  } else if constexpr (std::is_same_v<T, bool>) {
    return true;
  } else {
    return 77;
  }
}

TEST(TableHash, EveryMemberOfARequestCounts) {
  std::set<std::uint64_t> hashes = {table_hash(ResourceRequest())};
  ResourceRequest request;
  std::size_t count = 1;
  with_members(request, [&](auto&... members) {
    const auto try_with = [&]<class Member>(Member& member) {
      const Member before = std::exchange(member, another<Member>());
      hashes.insert(table_hash(request));
      ++count;
      member = before;
    };
    (try_with(members), ...);
  });
  EXPECT_EQ(hashes.size(), count) << "a member that does not count has the hash of a fresh request";
}

TEST(TableHash, EqualRequestsHaveEqualOnes) {
  ResourceRequest request;
  request.gres_per_node = {{"gpu", "a100", 2}};
  request.features.alternatives = {{"ib", "big"}, {"fast"}};
  EXPECT_EQ(table_hash(ResourceRequest(request)), table_hash(request));
  ResourceRequest other = request;
  other.features.alternatives = {{"ib"}, {"big", "fast"}};
  EXPECT_NE(table_hash(other), table_hash(request));
}

}  // namespace
}  // namespace muster

#include "wire/connection_quota.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr UserId kAlice{1001};
constexpr UserId kBob{1002};
constexpr UserId kRoot{0};

QuotaLimits small_limits() {
  return {.connections_max = 6,
          .connections_reserved = 2,
          .connections_of_user_max = 3,
          .calls_of_user_max = 2,
          .bytes_of_user_max = 100};
}

TEST(ConnectionQuota, OneUserLeavesRoomForTheOthers) {
  ConnectionQuota quota(small_limits());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(quota.add_connection(kAlice, false), std::nullopt);
  const auto refused = quota.add_connection(kAlice, false);
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->find("too many connections of user 1001"), std::string::npos) << *refused;
  EXPECT_EQ(quota.add_connection(kBob, false), std::nullopt);
  quota.drop_connection(kAlice);
  EXPECT_EQ(quota.add_connection(kAlice, false), std::nullopt);
}

TEST(ConnectionQuota, OperatorsHaveConnectionsThatNobodyElseGets) {
  ConnectionQuota quota(small_limits());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(quota.add_connection(kAlice, false), std::nullopt);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(quota.add_connection(kBob, false), std::nullopt);
  EXPECT_TRUE(quota.add_connection(kBob, false));
  EXPECT_EQ(quota.add_connection(kRoot, true), std::nullopt);
  EXPECT_EQ(quota.add_connection(kRoot, true), std::nullopt);
  EXPECT_TRUE(quota.add_connection(kRoot, true));  // the whole bounds them too
  EXPECT_EQ(quota.connections(), 6U);
}

TEST(ConnectionQuota, CallsAndBytesOfAUserAreBounded) {
  ConnectionQuota quota(small_limits());
  EXPECT_EQ(quota.add_call(kAlice, false), std::nullopt);
  EXPECT_EQ(quota.add_call(kAlice, false), std::nullopt);
  EXPECT_TRUE(quota.add_call(kAlice, false));
  EXPECT_EQ(quota.add_call(kBob, false), std::nullopt);
  EXPECT_EQ(quota.add_bytes(kAlice, false, 60), std::nullopt);
  EXPECT_TRUE(quota.add_bytes(kAlice, false, 41));
  EXPECT_TRUE(quota.add_bytes(kAlice, false, SIZE_MAX));
  EXPECT_EQ(quota.add_bytes(kAlice, false, 40), std::nullopt);
  EXPECT_EQ(quota.add_bytes(kRoot, true, 1'000), std::nullopt);
  quota.drop_call(kAlice);
  EXPECT_EQ(quota.add_call(kAlice, false), std::nullopt);
}

TEST(ConnectionQuota, FilesThatMayBeOpenAreSharedByClientsAndAgents) {
  EXPECT_EQ(client_limits(1'048'576).connections_max, 8192U);
  EXPECT_GT(agent_limits(1'048'576).connections_max, 1'000'000U);
  EXPECT_GE(agent_limits(20'000).connections_max, 10'000U) << "a node each of a large cluster";
  for (const std::uint64_t files : {16U, 100U, 1024U, 20'000U}) {
    const QuotaLimits clients = client_limits(files);
    EXPECT_LT(clients.connections_max + agent_limits(files).connections_max, files);
    EXPECT_GT(agent_limits(files).connections_max, 0U);
    EXPECT_LT(clients.connections_reserved, clients.connections_max);
  }
}

TEST(ConnectionQuota, WhoHoldsNothingIsForgotten) {
  ConnectionQuota quota(small_limits());
  EXPECT_EQ(quota.add_connection(kAlice, false), std::nullopt);
  EXPECT_EQ(quota.add_call(kAlice, false), std::nullopt);
  EXPECT_EQ(quota.add_bytes(kAlice, false, 10), std::nullopt);
  EXPECT_TRUE(quota.add_bytes(kBob, false, 101));
  quota.drop_bytes(kAlice, 10);
  quota.drop_call(kAlice);
  quota.drop_connection(kAlice);
  EXPECT_EQ(quota.users(), 0U);
}

}  // namespace
}  // namespace muster

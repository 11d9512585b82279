#include "admission/filter_lists.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

TEST(FilterLists, EachListIsSortedAndHasEachWordOnce) {
  JobFilter filter;
  filter.users = {"zoe", "ada", "zoe"};
  filter.names = {"b", "a"};
  filter.accounts = {"b", "a"};
  filter.partitions = {"b", "a"};
  filter.qos = {"b", "a"};
  filter.wckeys = {"b", "a"};
  filter.reservations = {"b", "a"};
  filter.licenses = {"b", "a"};
  filter.nodes = {"b", "a"};
  filter.uids = {7, 5, 7};
  filter.states = {JobState::kFailed, JobState::kPending};
  ASSERT_TRUE(sort_lists(filter).has_value());
  EXPECT_EQ(filter.users, (std::vector<std::string>{"ada", "zoe"}));
  for (const auto* list : {&filter.names, &filter.accounts, &filter.partitions, &filter.qos,
                           &filter.wckeys, &filter.reservations, &filter.licenses, &filter.nodes}) {
    EXPECT_EQ(*list, (std::vector<std::string>{"a", "b"}));
  }
  EXPECT_EQ(filter.uids, (std::vector<std::uint32_t>{5, 7}));
  EXPECT_TRUE(is_listed(filter.states, JobState::kFailed));
  EXPECT_TRUE(is_listed(filter.users, "zoe"));
  EXPECT_FALSE(is_listed(filter.users, "eve"));
  EXPECT_TRUE(is_listed(std::vector<std::string>(), "anybody"));
}

TEST(FilterLists, ALongListIsRefused) {
  JobFilter filter;
  filter.names.assign(65'536, "a");
  EXPECT_TRUE(sort_lists(filter).has_value());
  filter.uids.assign(65'537, 1);
  EXPECT_EQ(sort_lists(filter).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace muster

#include "sched/timeline/end_walk.h"

#include <gtest/gtest.h>

#include "sched/testing.h"

namespace muster::sched {
namespace {

using namespace testing;

/// On nodes 1 to 4 jobs end at 10, 20, 20 and 30, on node 5 never, on node 0 at 20 and 40.
struct FiveJobs : ::testing::Test {
  FiveJobs() : snapshot(make_snapshot(make_cluster(equal_nodes(6, 8)))) {
    snapshot.advance_time(at(0));
    const std::vector<TimePoint> ends = {at(10), at(20), at(20), at(30), TimePoint::never()};
    for (std::uint32_t i = 0; i < ends.size(); ++i)
      snapshot.start_job(
          {JobId(i + 1), PartitionIndex(0), {{NodeIndex(i + 1), 1, 1, 0, {}}}, ends[i]});
    for (const std::uint32_t end : {20U, 40U})
      snapshot.start_job({JobId(end), PartitionIndex(0), {{NodeIndex(0), 1, 1, 0, {}}}, at(end)});
    table.reset(snapshot);
    among = snapshot.inventory().all;
    among.reset(NodeIndex(0));
    options.overdue_grace = Duration::seconds(7);
  }
  std::string pass(EndWalk& walk) const {
    std::string passed;
    const TimePoint instant = walk.next();
    walk.pass(instant, [&](NodeIndex node) { passed += std::to_string(node.value()); });
    return std::to_string((instant - at(0)).seconds()) + ":" + passed;
  }
  std::string back(EndWalk& walk) const {
    std::string passed;
    const TimePoint instant = walk.previous();
    walk.back([&](NodeIndex node) { passed += std::to_string(node.value()); });
    return std::to_string((instant - at(0)).seconds()) + ":" + passed;
  }
  ClusterSnapshot snapshot;
  EndTable table;
  NodeSet among;
  PlanOptions options;
};

TEST_F(FiveJobs, GoesFromInstantToInstantAndBack) {
  EndWalk walk(table, at(0), options, among);
  EXPECT_FALSE(walk.previous().is_set());
  EXPECT_EQ(pass(walk), "10:1");
  EXPECT_EQ(pass(walk), "20:23");
  EXPECT_EQ(pass(walk), "30:4");
  EXPECT_TRUE(walk.next().is_never());
  EXPECT_EQ(back(walk), "30:4");
  EXPECT_EQ(back(walk), "20:32");
  EXPECT_EQ(pass(walk), "20:23");
  EXPECT_EQ(back(walk), "20:32");
  EXPECT_EQ(back(walk), "10:1");
  EXPECT_FALSE(walk.previous().is_set());
}

TEST_F(FiveJobs, BeginsBehindAnyTime) {
  EndWalk walk(table, at(0), options, among);
  walk.go_behind(at(20));
  EXPECT_EQ(walk.next(), at(30));
  EXPECT_EQ(walk.previous(), at(20));
  walk.go_behind(at(9));
  EXPECT_EQ(walk.next(), at(10));
}

TEST_F(FiveJobs, OverdueJobsEndTogetherAGraceAfterNow) {
  EndWalk walk(table, at(22), options, among);
  EXPECT_FALSE(walk.previous().is_set()) << "they have not ended";
  EXPECT_EQ(pass(walk), "29:123");
  EXPECT_EQ(walk.previous(), at(29));
  EXPECT_EQ(pass(walk), "30:4");
  EXPECT_EQ(back(walk), "30:4");
  EXPECT_EQ(back(walk), "29:123");
  EXPECT_FALSE(walk.previous().is_set());
  walk.go_behind(at(29));
  EXPECT_EQ(pass(walk), "30:4");
}

TEST_F(FiveJobs, WhatCountsAsGoneDoesNotEnd) {
  options.is_overdue_free = true;
  EndWalk walk(table, at(22), options, among);
  EXPECT_EQ(pass(walk), "30:4");
  EXPECT_EQ(back(walk), "30:4");
  EXPECT_FALSE(walk.previous().is_set());
}

TEST_F(FiveJobs, TheTableFollowsTheNodesThatChange) {
  snapshot.end_job(JobId(2));
  snapshot.change_end(JobId(1), at(25));
  snapshot.start_job({JobId(7), PartitionIndex(0), {{NodeIndex(5), 1, 1, 0, {}}}, at(25)});
  NodeSet changed(6);
  for (const std::uint32_t node : {1U, 2U, 5U}) changed.set(NodeIndex(node));
  table.update(snapshot, changed);
  EXPECT_EQ(table.size(), 6U);
  EndWalk walk(table, at(0), options, among);
  EXPECT_EQ(pass(walk), "20:3");
  EXPECT_EQ(pass(walk), "25:15");
  EXPECT_EQ(pass(walk), "30:4");
  EXPECT_TRUE(walk.next().is_never());
}

}  // namespace
}  // namespace muster::sched

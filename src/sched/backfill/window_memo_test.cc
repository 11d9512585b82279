#include "sched/backfill/window_memo.h"

#include <gtest/gtest.h>

#include "sched/testing.h"

namespace muster::sched {
namespace {

using namespace testing;

/// What is taken to begin a search is not there for another: a pass that has no effort left gives
/// nothing back, and what is left of it must not pass for a mark.
TEST(WindowMemo, WhatASearchBeginsWithIsTakenWhole) {
  const ClusterSnapshot snapshot = make_snapshot(make_cluster(equal_nodes(2, 4)));
  const Timeline timeline(snapshot, at(0), PlanOptions());
  NodeSet allowed(2);
  allowed.set(NodeIndex(0));
  const NodeSet none(2);
  const WindowMemo::Question question{snapshot, timeline, allowed, none, Duration::seconds(60), {}};
  SearchMemory memory;
  memory.early.emplace();
  memory.late.emplace();
  WindowMemo memo;
  memo.store(question, FuturePlacement{at(100), {}}, std::move(memory));
  const auto first = memo.extract_memory(question);
  ASSERT_TRUE(first && first->early && first->late);
  EXPECT_EQ(first->expected_start, at(100));
  const auto second = memo.extract_memory(question);
  ASSERT_TRUE(second.has_value());
  EXPECT_FALSE(second->early.has_value());
  EXPECT_FALSE(second->late.has_value());
}

}  // namespace
}  // namespace muster::sched

#include "workload/launch/launch_queue.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace muster {
namespace {

constexpr UserId kAnn(1);
constexpr UserId kBen(2);

TimePoint instant(double seconds) {
  return TimePoint::from_seconds(1'000'000) +
         Duration::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

LaunchPart part_of(std::uint32_t job, std::uint32_t node) {
  return {StepId{JobId(job), 0, kBatchStep}, NodeIndex(node)};
}

class LaunchQueueTest : public ::testing::Test {
 protected:
  LaunchPart add(std::uint32_t job, std::uint32_t node, std::size_t bytes, UserId user = kAnn) {
    const LaunchPart part = part_of(job, node);
    queue.add(part, user, bytes);
    return part;
  }
  /// Those whose turn it is now: all that may go.
  std::vector<LaunchPart> turns(double seconds = 0) {
    std::vector<LaunchPart> parts;
    while (const auto part = queue.next(instant(seconds))) parts.push_back(*part);
    return parts;
  }
  using Parts = std::vector<LaunchPart>;
  LaunchQueue queue{{.large = 10, .under_way = 100, .timeout = Duration::seconds(1)}};
};

TEST_F(LaunchQueueTest, WhatIsTooMuchWaitsForWhatIsUnderWay) {
  const auto first = add(1, 1, 60);
  const auto second = add(2, 2, 60);
  EXPECT_EQ(turns(), Parts{first});
  queue.received(first);
  EXPECT_EQ(turns(), Parts{second});
}

TEST_F(LaunchQueueTest, OneUsersGoInTheirOrder) {
  const auto first = add(1, 1, 60);
  const auto large = add(2, 2, 60);
  const auto small = add(3, 3, 10);
  EXPECT_EQ(turns(), Parts{first});
  queue.received(first);
  EXPECT_EQ(turns(), (Parts{large, small}));
}

TEST_F(LaunchQueueTest, UsersTakeTurns) {
  for (std::uint32_t job = 1; job <= 50; ++job) add(job, job, 60);
  EXPECT_EQ(turns(), Parts{part_of(1, 1)});
  const auto other = add(100, 100, 20, kBen);
  queue.received(part_of(1, 1));
  EXPECT_EQ(turns(), (Parts{part_of(2, 2), other}));
  queue.received(part_of(2, 2));
  EXPECT_EQ(turns(), Parts{part_of(3, 3)});
}

TEST_F(LaunchQueueTest, MoreThanAllGoesAlone) {
  const auto first = add(1, 1, 10);
  const auto huge = add(2, 2, 1000);
  EXPECT_EQ(turns(), Parts{first});
  queue.received(first);
  EXPECT_EQ(turns(), Parts{huge});
  const auto next = add(3, 3, 10);
  EXPECT_TRUE(turns().empty());
  queue.received(huge);
  EXPECT_EQ(turns(), Parts{next});
}

TEST_F(LaunchQueueTest, ANodeIsToldOneAtATime) {
  const auto first = add(1, 1, 10);
  const auto second = add(2, 1, 10);
  const auto others = add(3, 1, 10, kBen);
  EXPECT_EQ(turns(), Parts{first});
  queue.received(first);
  EXPECT_EQ(turns(), Parts{others});
  queue.received(others);
  EXPECT_EQ(turns(), Parts{second});
}

/// Whoever has the lower number.
TEST_F(LaunchQueueTest, UsersTakeTurnsAtANode) {
  for (const auto& [many, one] : {std::pair(kAnn, kBen), std::pair(kBen, kAnn)}) {
    for (std::uint32_t job = 1; job <= 5; ++job) add(job, 1, 10, many);
    const auto other = add(100, 1, 10, one);
    std::vector<LaunchPart> order;
    for (auto part = queue.next(instant(0)); part; part = queue.next(instant(0))) {
      order.push_back(*part);
      queue.received(*part);
    }
    ASSERT_EQ(order.size(), 6U);
    EXPECT_EQ(order[1], other) << "after the first that was there before";
    EXPECT_TRUE(queue.is_empty());
  }
}

/// Also while one user always has more for it.
TEST_F(LaunchQueueTest, NobodyWaitsForEver) {
  add(1, 1, 10, kAnn);
  const auto other = add(1000, 1, 10, kBen);
  for (std::uint32_t job = 2; job < 10; ++job) {
    add(job, 1, 10, kAnn);
    const auto part = queue.next(instant(0));
    ASSERT_TRUE(part);
    queue.received(*part);
    if (*part == other) return;
  }
  FAIL() << "it has not had its turn";
}

TEST_F(LaunchQueueTest, WhatIsOldHoldsUpItsNodeAlone) {
  const auto first = add(1, 1, 100);
  const auto same = add(2, 1, 10);
  const auto other = add(3, 2, 100);
  EXPECT_EQ(turns(0), Parts{first});
  EXPECT_TRUE(turns(0.5).empty());
  EXPECT_EQ(turns(1), Parts{other});
  queue.received(first);
  EXPECT_TRUE(turns(1).empty()) << "its bytes are given back once";
  queue.received(other);
  EXPECT_EQ(turns(1), Parts{same});
}

TEST_F(LaunchQueueTest, SaysWhoseDoingItIsThatAStepWaits) {
  const auto first = add(1, 1, 100);
  const auto same = add(2, 1, 10);
  const auto other = add(3, 2, 10);
  EXPECT_EQ(queue.held_up_since(first.step, instant(5)), instant(5)) << "ours";
  turns(5);
  EXPECT_EQ(queue.held_up_since(first.step, instant(5.5)), instant(5)) << "it has its turn";
  EXPECT_EQ(queue.held_up_since(same.step, instant(5.5)), instant(5.5))
      << "ours: nothing has been sent";
  queue.sent(first, instant(6));
  EXPECT_EQ(queue.held_up_since(first.step, instant(9)), std::nullopt) << "sent";
  EXPECT_EQ(queue.held_up_since(same.step, instant(9)), instant(6))
      << "its node has not received what it was told";
  EXPECT_EQ(queue.held_up_since(other.step, instant(9)), instant(9)) << "ours: the bytes under way";
}

TEST_F(LaunchQueueTest, AStepWaitsForUsAsLongAsOneOfItsPartsDoes) {
  const auto busy = add(1, 1, 100);
  turns(0);
  queue.sent(busy, instant(0));
  add(2, 1, 10);
  add(2, 2, 10);
  EXPECT_EQ(queue.held_up_since(part_of(2, 1).step, instant(0.5)), instant(0.5));
}

TEST_F(LaunchQueueTest, ATurnThatIsNotTakenYetIsKnown) {
  const auto first = add(1, 1, 10);
  EXPECT_TRUE(queue.unsent_turns(first.step).empty());
  turns();
  EXPECT_EQ(queue.unsent_turns(first.step), std::vector{NodeIndex(1)});
  EXPECT_TRUE(queue.is_waiting(first));
  queue.sent(first, instant(0));
  EXPECT_TRUE(queue.unsent_turns(first.step).empty());
  EXPECT_FALSE(queue.is_waiting(first));
}

TEST_F(LaunchQueueTest, ANodeThatIsGoneHoldsNothing) {
  const auto first = add(1, 1, 100);
  add(2, 1, 10);
  add(3, 1, 10, kBen);
  const auto other = add(4, 2, 100);
  EXPECT_EQ(turns(), Parts{first});
  queue.forget(NodeIndex(1));
  EXPECT_EQ(turns(), Parts{other});
  queue.received(other);
  EXPECT_TRUE(queue.is_empty());
  // It may come back.
  queue.add(first, kAnn, 100);
  EXPECT_EQ(turns(), Parts{first});
}

TEST_F(LaunchQueueTest, OneThatIsHereIsNotAddedAgain) {
  const auto first = add(1, 1, 10);
  queue.add(first, kAnn, 10);
  EXPECT_EQ(turns(), Parts{first});
  queue.add(first, kAnn, 10);
  queue.received(first);
  EXPECT_TRUE(turns().empty());
}

/// Whatever happens, each part has its turn once for each time that it came, never two of a node,
/// never more bytes than may be, and in the end nothing is left.
TEST(LaunchQueueProperty, EveryPartHasItsTurn) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto draw = [&](std::uint32_t bound) {
      return static_cast<std::uint32_t>(random() % bound);
    };
    LaunchQueue queue({.large = 0, .under_way = 100, .timeout = Duration::seconds(1'000'000)});
    std::map<LaunchPart, std::size_t> due;
    std::map<LaunchPart, std::size_t> under_way;
    std::uint32_t job = 0;
    const auto serve = [&] {
      while (const auto part = queue.next(instant(0))) {
        ASSERT_TRUE(due.contains(*part));
        for (const auto& [other, bytes] : under_way) ASSERT_NE(other.node, part->node);
        under_way.insert(due.extract(*part));
        std::size_t bytes = 0;
        for (const auto& [other, own] : under_way) bytes += own;
        ASSERT_TRUE(bytes <= 100 || under_way.size() == 1);
      }
    };
    for (int i = 0; i < 300; ++i) {
      const std::uint32_t what = draw(10);
      if (what < 5) {
        const LaunchPart part = part_of(++job, draw(6));
        const std::size_t bytes = 1 + draw(120);
        queue.add(part, UserId(draw(3)), bytes);
        due.emplace(part, bytes);
      } else if (what < 9 && !under_way.empty()) {
        const auto one =
            std::next(under_way.begin(), draw(static_cast<std::uint32_t>(under_way.size())));
        queue.received(one->first);
        under_way.erase(one);
      } else if (what == 9) {
        const NodeIndex node(draw(6));
        queue.forget(node);
        std::erase_if(due, [&](const auto& one) { return one.first.node == node; });
        std::erase_if(under_way, [&](const auto& one) { return one.first.node == node; });
      }
      ASSERT_NO_FATAL_FAILURE(serve());
    }
    while (!under_way.empty()) {
      queue.received(under_way.begin()->first);
      under_way.erase(under_way.begin());
      ASSERT_NO_FATAL_FAILURE(serve());
    }
    EXPECT_TRUE(due.empty());
    EXPECT_TRUE(queue.is_empty());
  }
}

}  // namespace
}  // namespace muster

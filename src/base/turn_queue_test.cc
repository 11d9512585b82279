#include "base/turn_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/rng.h"

namespace muster {
namespace {

TEST(TurnQueue, OwnersTakeTurnsHoweverManyOneHasAdded) {
  TurnQueue<int, std::string> queue;
  EXPECT_FALSE(queue.next());
  for (const char* value : {"a1", "a2", "a3", "a4"}) queue.add(1, value);
  queue.add(2, "b1");
  queue.add(3, "c1");
  queue.add(2, "b2");
  std::string order;
  while (auto value = queue.next()) order += *value + " ";
  EXPECT_EQ(order, "a1 b1 c1 a2 b2 a3 a4 ");
  EXPECT_TRUE(queue.is_empty());
}

TEST(TurnQueue, WhoComesAfterTheLastTurnIsNotPassedOver) {
  TurnQueue<int, int> queue;
  queue.add(5, 50);
  EXPECT_EQ(queue.next(), 50);
  queue.add(1, 10);
  queue.add(9, 90);
  EXPECT_EQ(queue.next(), 90);
  EXPECT_EQ(queue.next(), 10);
  EXPECT_EQ(queue.size(), 0U);
}

TEST(TurnQueue, WhoComesBackWaitsForHisTurn) {
  TurnQueue<int, int> queue;
  for (const int owner : {1, 2, 3}) queue.add(owner, owner * 10);
  EXPECT_EQ(queue.next(), 10);
  queue.add(1, 11);
  EXPECT_EQ(queue.next(), 20);
  EXPECT_EQ(queue.next(), 30);
  EXPECT_EQ(queue.next(), 11);
  EXPECT_EQ(queue.next(), std::nullopt);
  queue.add(1, 12);
  EXPECT_EQ(queue.next(), 12) << "an empty queue does not forget how to go on";
}

TEST(TurnQueue, NobodyWaitsLongerThanOneTurnOfEveryOther) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    TurnQueue<std::uint64_t, std::uint64_t> queue;
    std::uint64_t others = 0;
    std::size_t added = 0;
    for (std::uint64_t owner = 0; owner < 8; ++owner) {
      const std::uint64_t count = rng.below(20);
      for (std::uint64_t i = 0; i < count; ++i) queue.add(owner, owner);
      others += count > 0 ? 1 : 0;
      added += count;
    }
    queue.add(100, 100);
    EXPECT_EQ(queue.size(), added + 1);
    std::uint64_t turns = 0;
    while (queue.next() != 100) ++turns;
    EXPECT_LE(turns, others) << "seed " << seed;
  }
}

TEST(TurnQueue, HoldsWhatCannotBeCopied) {
  TurnQueue<std::string, std::unique_ptr<int>> queue;
  queue.add("ann", std::make_unique<int>(4));
  auto value = queue.next();
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(**value, 4);
}

}  // namespace
}  // namespace muster

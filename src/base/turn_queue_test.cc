#include "base/turn_queue.h"

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace muster

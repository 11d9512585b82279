#include "gateway/list_turns.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>

#include <string>

namespace muster {
namespace {

constexpr UserId kAliceId(1000);
constexpr UserId kBobId(1001);

class ListTurnsTest : public ::testing::Test {
 protected:
  ListTurnsTest() : io(kj::setupAsyncIo()), turns(io.provider->getTimer()) {}
  ~ListTurnsTest() noexcept override = default;
  kj::Promise<void> take(UserId user, char mark, std::size_t cost = ListTurns::kCostMax) {
    return turns.take(user, [this, mark, cost] {
      order += mark;
      return cost;
    });
  }
  /// What is ready runs, and then what has come from outside is looked for, once.
  void look_outside() {
    io.provider->getTimer().afterDelay(0 * kj::NANOSECONDS).wait(io.waitScope);
  }

  kj::AsyncIoContext io;
  ListTurns turns;
  std::string order;
};

TEST_F(ListTurnsTest, LittleIsDoneAtOnce) {
  auto first = take(kAliceId, 'a', 10);
  auto second = take(kAliceId, 'b', 10);
  EXPECT_EQ(order, "ab");
}

TEST_F(ListTurnsTest, APortionAndThenEverybodyElse) {
  auto first = take(kAliceId, 'a');
  auto second = take(kAliceId, 'b');
  auto third = take(kAliceId, 'c');
  EXPECT_EQ(order, "a");
  look_outside();
  EXPECT_EQ(order, "ab");
  third.wait(io.waitScope);
  EXPECT_EQ(order, "abc");
  look_outside();
  auto fourth = take(kAliceId, 'd');
  EXPECT_EQ(order, "abcd") << "nothing was done since";
}

TEST_F(ListTurnsTest, SmallSlicesShareAPortion) {
  auto first = take(kAliceId, 'a');
  auto second = take(kAliceId, 'b', ListTurns::kCostMax / 2);
  auto third = take(kAliceId, 'c', ListTurns::kCostMax / 2);
  auto fourth = take(kAliceId, 'd');
  look_outside();
  EXPECT_EQ(order, "abc");
}

TEST_F(ListTurnsTest, UsersTakeTurns) {
  auto a = take(kAliceId, 'a');
  auto b = take(kAliceId, 'b');
  auto c = take(kAliceId, 'c');
  auto d = take(kBobId, 'd');
  d.wait(io.waitScope);
  EXPECT_EQ(order.substr(0, 3).find('d'), order.size() - 1) << order;
  c.wait(io.waitScope);
  EXPECT_EQ(order.size(), 4U);
}

TEST_F(ListTurnsTest, WhoHasLeftHasNoTurn) {
  auto first = take(kAliceId, 'a');
  auto last = take(kAliceId, 'c');
  { auto gone = take(kBobId, 'b'); }
  last.wait(io.waitScope);
  for (int i = 0; i < 3; ++i) look_outside();
  EXPECT_EQ(order, "ac");
}

}  // namespace
}  // namespace muster

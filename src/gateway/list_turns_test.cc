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
  kj::Promise<void> run(UserId user, char mark, std::size_t cost = ListTurns::kCostMax) {
    return turns.run(user, [this, mark, cost] {
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
  auto first = run(kAliceId, 'a', 10);
  auto second = run(kAliceId, 'b', 10);
  EXPECT_EQ(order, "ab");
}

TEST_F(ListTurnsTest, APortionAndThenEverybodyElse) {
  auto first = run(kAliceId, 'a');
  auto second = run(kAliceId, 'b');
  auto third = run(kAliceId, 'c');
  EXPECT_EQ(order, "a");
  look_outside();
  EXPECT_EQ(order, "ab");
  third.wait(io.waitScope);
  EXPECT_EQ(order, "abc");
  look_outside();
  auto fourth = run(kAliceId, 'd');
  EXPECT_EQ(order, "abcd") << "nothing was done since";
}

TEST_F(ListTurnsTest, SmallSlicesShareAPortion) {
  auto first = run(kAliceId, 'a');
  auto second = run(kAliceId, 'b', ListTurns::kCostMax / 2);
  auto third = run(kAliceId, 'c', ListTurns::kCostMax / 2);
  auto fourth = run(kAliceId, 'd');
  look_outside();
  EXPECT_EQ(order, "abc");
}

TEST_F(ListTurnsTest, UsersTakeTurns) {
  auto a = run(kAliceId, 'a');
  auto b = run(kAliceId, 'b');
  auto c = run(kAliceId, 'c');
  auto d = run(kBobId, 'd');
  d.wait(io.waitScope);
  EXPECT_EQ(order.substr(0, 3).find('d'), order.size() - 1) << order;
  c.wait(io.waitScope);
  EXPECT_EQ(order.size(), 4U);
}

TEST_F(ListTurnsTest, WhoHasLeftHasNoTurn) {
  auto first = run(kAliceId, 'a');
  auto last = run(kAliceId, 'c');
  { auto gone = run(kBobId, 'b'); }
  last.wait(io.waitScope);
  for (int i = 0; i < 3; ++i) look_outside();
  EXPECT_EQ(order, "ac");
}

}  // namespace
}  // namespace muster

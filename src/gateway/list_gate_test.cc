#include "gateway/list_gate.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>

#include <optional>

namespace muster {
namespace {

constexpr UserId kFirstUser(1000);
constexpr UserId kSecondUser(1001);

using Ticket = kj::Own<ListGate::Ticket>;

TEST(ListGate, OneUserWaitsForHisOwnAndOthersDoNot) {
  auto io = kj::setupAsyncIo();
  ListGate gate(2);
  Ticket first = gate.enter(kFirstUser).wait(io.waitScope);
  Ticket second = gate.enter(kFirstUser).wait(io.waitScope);
  auto third = gate.enter(kFirstUser);
  auto fourth = gate.enter(kFirstUser);
  EXPECT_FALSE(third.poll(io.waitScope));
  Ticket other = gate.enter(kSecondUser).wait(io.waitScope);
  first = nullptr;
  EXPECT_TRUE(third.poll(io.waitScope));
  EXPECT_FALSE(fourth.poll(io.waitScope));
  second = nullptr;
  EXPECT_TRUE(fourth.poll(io.waitScope));
}

TEST(ListGate, WhoLeavesWhileHeWaitsIsPassedOverAndNothingIsLost) {
  auto io = kj::setupAsyncIo();
  ListGate gate(1);
  {
    Ticket first = gate.enter(kFirstUser).wait(io.waitScope);
    auto last = [&] {
      auto gone = gate.enter(kFirstUser);
      return gate.enter(kFirstUser);
    }();
    first = nullptr;
    EXPECT_TRUE(last.poll(io.waitScope));
    // Given, and not taken.
  }
  EXPECT_EQ(gate.users(), 0U);
  Ticket again = gate.enter(kFirstUser).wait(io.waitScope);
  EXPECT_EQ(gate.users(), 1U);
}

TEST(ListGate, ATicketOutlivesTheGate) {
  auto io = kj::setupAsyncIo();
  std::optional<ListGate> gate(std::in_place, 1);
  Ticket ticket = gate->enter(kFirstUser).wait(io.waitScope);
  gate.reset();
  ticket = nullptr;
}

}  // namespace
}  // namespace muster

#include "gateway/list_gate.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>

#include <optional>

namespace muster {
namespace {

constexpr UserId kAlice(1000);
constexpr UserId kBob(1001);

using Ticket = kj::Own<ListGate::Ticket>;

TEST(ListGate, OneUserWaitsForHisOwnAndOthersDoNot) {
  auto io = kj::setupAsyncIo();
  ListGate gate(2);
  Ticket first = gate.enter(kAlice).wait(io.waitScope);
  Ticket second = gate.enter(kAlice).wait(io.waitScope);
  auto third = gate.enter(kAlice);
  auto fourth = gate.enter(kAlice);
  EXPECT_FALSE(third.poll(io.waitScope));
  Ticket other = gate.enter(kBob).wait(io.waitScope);
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
    Ticket first = gate.enter(kAlice).wait(io.waitScope);
    auto last = [&] {
      auto gone = gate.enter(kAlice);
      return gate.enter(kAlice);
    }();
    first = nullptr;
    EXPECT_TRUE(last.poll(io.waitScope));
    // Given, and not taken.
  }
  EXPECT_EQ(gate.users(), 0U);
  Ticket again = gate.enter(kAlice).wait(io.waitScope);
  EXPECT_EQ(gate.users(), 1U);
}

TEST(ListGate, ATicketOutlivesTheGate) {
  auto io = kj::setupAsyncIo();
  std::optional<ListGate> gate(std::in_place, 1);
  Ticket ticket = gate->enter(kAlice).wait(io.waitScope);
  gate.reset();
  ticket = nullptr;
}

}  // namespace
}  // namespace muster

#include "agent/own_fault.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

struct OwnFaultTest : ::testing::Test {
  /// How long it is left alone from now on. Afterwards it is looked at.
  Duration pause(bool is_gone) {
    fault.begin("no room");
    const TimePoint begun = now;
    while (!fault.is_due(now)) now = now + Duration::milliseconds(250);
    const Duration waited = now - begun;
    const Status full = fail(ErrorCode::kResourceExhausted, "no room");
    fault.looked(is_gone ? Status() : full, now);
    return waited;
  }
  TimePoint now = TimePoint::from_seconds(1000);
  OwnFault fault;
};

TEST_F(OwnFaultTest, IsLookedAtUntilItIsGone) {
  EXPECT_FALSE(fault.is_due(now));
  EXPECT_EQ(pause(false), Duration::seconds(5));
  EXPECT_EQ(fault.text(), "no room");
  EXPECT_EQ(pause(true), Duration::seconds(5));
  EXPECT_EQ(fault.text(), "");
}

TEST_F(OwnFaultTest, ARelapseIsLeftAloneForTwiceAsLong) {
  EXPECT_EQ(pause(true), Duration::seconds(5));
  for (const int seconds : {10, 20, 40, 80, 160, 300, 300}) {
    EXPECT_EQ(pause(true), Duration::seconds(seconds));
    now = now + Duration::seconds(500);
  }
}

TEST_F(OwnFaultTest, OneThatComesMuchLaterIsAnother) {
  pause(true);
  pause(true);
  now = now + OwnFault::kRelapseWithin;
  EXPECT_EQ(pause(true), Duration::seconds(5));
}

}  // namespace
}  // namespace muster

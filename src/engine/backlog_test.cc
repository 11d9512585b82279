#include "engine/backlog.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Backlog, EachFollowerHoldsCommandsBackByItself) {
  EXPECT_FALSE(Backlog().is_congested());
  for (const auto follower :
       {&Backlog::journal, &Backlog::gateway, &Backlog::searches, &Backlog::logs}) {
    Backlog backlog;
    backlog.*follower = Backlog::kBehindMax;
    EXPECT_FALSE(backlog.is_congested());
    ++(backlog.*follower);
    EXPECT_TRUE(backlog.is_congested());
  }
  for (const auto follower : {&Backlog::planner, &Backlog::history}) {
    Backlog backlog;
    backlog.*follower = Backlog::kFarBehindMax;
    EXPECT_FALSE(backlog.is_congested());
    ++(backlog.*follower);
    EXPECT_TRUE(backlog.is_congested());
  }
}

}  // namespace
}  // namespace muster

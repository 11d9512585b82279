#include "engine/cluster_clock.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TimePoint wall_at(std::int64_t seconds) { return TimePoint::from_seconds(2'000'000'000 + seconds); }

/// A machine whose wall clock can be set.
struct Machine {
  Duration steady = Duration::seconds(1000);
  Duration error;  ///< of the wall clock
  ClusterClock clock{reading(), wall_at(0)};

  ClockReading reading() const {
    return {steady, wall_at(0) + (steady - Duration::seconds(1000)) + error};
  }
  TimePoint truth() const { return wall_at(0) + (steady - Duration::seconds(1000)); }
  /// Time passes in ticks. True: a jump became believed.
  bool pass(Duration span) {
    for (Duration left = span; left > Duration(); left = left - Duration::milliseconds(100)) {
      steady += Duration::milliseconds(100);
      clock.update(reading());
      if (clock.believed_jump()) return true;
    }
    return false;
  }
  Duration off() const { return clock.at(steady) - truth(); }
};

TEST(ClusterClock, RunsWithTheSteadyClock) {
  Machine machine;
  EXPECT_FALSE(machine.pass(Duration::seconds(60)));
  EXPECT_EQ(machine.off(), Duration());
}

TEST(ClusterClock, WarnsOfAJumpUntilItIsTakenBack) {
  Machine machine;
  EXPECT_EQ(machine.clock.warning(), "");
  machine.error = Duration::hours(1);
  machine.pass(Duration::seconds(1));
  EXPECT_EQ(machine.clock.warning(),
            "the wall clock jumped by 3600 s: not followed before it has stood for 60 s");
  EXPECT_TRUE(machine.clock.is_other_jump(Duration()));
  const Duration told = machine.clock.jump();
  machine.pass(Duration::seconds(1));
  EXPECT_FALSE(machine.clock.is_other_jump(told));
  machine.error = Duration::hours(2);
  machine.pass(Duration::seconds(1));
  EXPECT_TRUE(machine.clock.is_other_jump(told)) << "a second one";
  machine.error = Duration();
  machine.pass(Duration::seconds(1));
  EXPECT_EQ(machine.clock.warning(), "");
  EXPECT_TRUE(machine.clock.is_other_jump(told)) << "none any more";
}

TEST(ClusterClock, FollowsSmallErrorsSlowly) {
  Machine machine;
  machine.error = Duration::seconds(1);
  machine.pass(Duration::seconds(10));
  EXPECT_EQ(machine.off(), Duration::milliseconds(500));
  machine.pass(Duration::seconds(30));
  EXPECT_EQ(machine.off(), Duration::seconds(1));
  machine.error = Duration();
  machine.pass(Duration::seconds(10));
  EXPECT_EQ(machine.off(), Duration::milliseconds(500));
}

TEST(ClusterClock, AJumpThatIsTakenBackLeavesNoTrace) {
  Machine machine;
  machine.error = Duration::hours(24 * 30);
  EXPECT_FALSE(machine.pass(Duration::seconds(2)));
  EXPECT_EQ(machine.clock.jump(), Duration::hours(24 * 30));
  machine.error = Duration();
  EXPECT_FALSE(machine.pass(Duration::minutes(20)));
  EXPECT_EQ(machine.clock.jump(), Duration());
  EXPECT_EQ(machine.off(), Duration());
}

TEST(ClusterClock, AJumpThatStaysIsBelievedInProportion) {
  for (const auto& [jump, wait] : {std::pair(Duration::hours(1), Duration::seconds(60)),
                                   std::pair(Duration::hours(-1), Duration::seconds(60)),
                                   std::pair(Duration::seconds(5), Duration::seconds(10)),
                                   std::pair(Duration::hours(24 * 30), Duration::minutes(10))}) {
    Machine machine;
    machine.error = jump;
    EXPECT_FALSE(machine.pass(wait - Duration::seconds(1))) << jump.seconds();
    EXPECT_EQ(machine.off(), Duration()) << "not followed before it is believed";
    EXPECT_TRUE(machine.pass(Duration::seconds(2))) << jump.seconds();
    EXPECT_EQ(machine.clock.believed_jump(), jump);
  }
}

TEST(ClusterClock, AWallClockThatWandersIsNotBelieved) {
  Machine machine;
  for (int i = 0; i < 100; ++i) {
    machine.error = Duration::minutes(5 + 5 * (i % 7));
    EXPECT_FALSE(machine.pass(Duration::seconds(4)));
  }
  EXPECT_EQ(machine.off(), Duration());
}

TEST(ClockStart, KnowsHowLongTheControllerWasAway) {
  const TimePoint last = wall_at(0);
  EXPECT_EQ(clock_start(TimePoint(), std::nullopt, wall_at(7), false).time, wall_at(7));
  // Same boot: the steady clock says it, whatever the wall clock does.
  for (const std::int64_t wall : {30, 3630, -3570, 30 * 86400}) {
    const ClockStart start = clock_start(last, Duration::seconds(30), wall_at(wall), false);
    EXPECT_EQ(start.time, wall_at(30));
    EXPECT_EQ(start.step, Duration());
  }
  // Another boot: what the wall clock says is a jump, so that no limit is over for it, right or
  // wrong.
  for (const std::int64_t wall : {500, 30 * 86400}) {
    const ClockStart start = clock_start(last, std::nullopt, wall_at(wall), false);
    EXPECT_EQ(start.time, last);
    EXPECT_EQ(start.step, Duration::seconds(wall));
  }
  EXPECT_EQ(clock_start(last, std::nullopt, wall_at(1), false).time, wall_at(1));
  EXPECT_EQ(clock_start(last, std::nullopt, wall_at(1), false).step, Duration());
  EXPECT_EQ(clock_start(last, std::nullopt, wall_at(-500), false).time, last);
  EXPECT_EQ(clock_start(last, std::nullopt, wall_at(-500), false).step, Duration())
      << "a jump back waits until it has stood for long enough";
}

TEST(ClockStart, FollowsAJumpThatWasBelieved) {
  const ClockStart ahead = clock_start(wall_at(0), Duration::seconds(1), wall_at(3601), true);
  EXPECT_EQ(ahead.time, wall_at(1));
  EXPECT_EQ(ahead.step, Duration::hours(1));
  const ClockStart back = clock_start(wall_at(0), Duration::seconds(1), wall_at(-3599), true);
  EXPECT_EQ(back.step, Duration::hours(-1));
}

}  // namespace
}  // namespace muster

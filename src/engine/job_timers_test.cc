#include "engine/job_timers.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TimePoint at(std::int64_t seconds) { return TimePoint::from_seconds(seconds); }

TEST(JobTimersTest, TheFirstMomentComesFirst) {
  JobTimers timers;
  timers.set({at(20), JobId(1), 1, TimerKind::kLimit});
  timers.set({at(10), JobId(2), 1, TimerKind::kWarning});
  timers.set({at(10), JobId(2), 1, TimerKind::kWarning});
  EXPECT_EQ(timers.size(), 2U);
  EXPECT_FALSE(timers.is_due(at(9)));
  ASSERT_TRUE(timers.is_due(at(10)));
  EXPECT_EQ(timers.pop().job, JobId(2));
  EXPECT_FALSE(timers.is_due(at(19)));
  EXPECT_TRUE(timers.is_due(at(20)));
}

TEST(JobTimersTest, AJobThatIsOverLeavesNone) {
  JobTimers timers;
  for (std::uint32_t job = 1; job <= 3; ++job) {
    timers.set({at(-5), JobId(job), 0, TimerKind::kLease});
    timers.set({at(100), JobId(job), 1, TimerKind::kLimit});
    timers.set({TimePoint::never(), JobId(job), 2, TimerKind::kBudget});
  }
  timers.drop(JobId(2));
  timers.drop(JobId(4));
  EXPECT_EQ(timers.size(), 6U);
  while (timers.size() > 0) EXPECT_NE(timers.pop().job, JobId(2));
  timers.drop(JobId(1));
  EXPECT_EQ(timers.size(), 0U);
}

}  // namespace
}  // namespace muster

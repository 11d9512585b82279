#include "engine/job_timers.h"

namespace muster {

void JobTimers::set(const Timer& timer) {
  if (by_moment_.insert(timer).second) by_job_.insert(timer);
}

void JobTimers::drop(JobId job) {
  const TimePoint earliest = TimePoint::from_microseconds(INT64_MIN);
  auto next = by_job_.lower_bound(Timer{earliest, job, 0, TimerKind::kLimit});
  while (next != by_job_.end() && next->job == job) {
    by_moment_.erase(*next);
    next = by_job_.erase(next);
  }
}

Timer JobTimers::pop() {
  const Timer first = *by_moment_.begin();
  by_moment_.erase(by_moment_.begin());
  by_job_.erase(first);
  return first;
}

}  // namespace muster

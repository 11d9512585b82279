// Timers of jobs: their time limits, begin times and the like. What happens is decided where a
// timer fires; a timer is only a reminder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>

#include "base/time.h"
#include "model/ids.h"

namespace muster {

enum class TimerKind : std::uint8_t {
  kLimit,       ///< the run has had its time limit and OverTimeLimit
  kWarning,     ///< the signal of --signal is due
  kLease,       ///< the client of an allocation may have gone
  kDeadline,    ///< a waiting job can no longer end before its deadline
  kEligible,    ///< the begin time has come
  kTimeShare,   ///< mail about a share of the time limit is due
  kStop,        ///< a run that was asked to stop has had its time to do so
  kTrialLimit,  ///< a trial's run is to save and stop before its time limit
  kBudget,      ///< the experiment's budget is used up
};

/// A reminder. What it is about may have changed since it was set, and the job may be in another
/// attempt: its handler looks at the state, and sets a new one where it came too early.
struct Timer {
  TimePoint at;
  JobId job;
  std::uint32_t attempt = 0;  ///< of the job when it was set; 0 for a lease
  TimerKind kind = TimerKind::kLimit;
  friend constexpr auto operator<=>(const Timer&, const Timer&) = default;
};

/// Timers by moment and by job, so that those of a job that has ended can be dropped however far
/// ahead they lie. They are not recorded: a start sets them anew from the state. Determinism: they
/// fire in the order of `at`, then job, attempt and kind. Cost: O(log timers) for each timer
/// concerned.
class JobTimers {
 public:
  /// Adds a timer; the same one set twice is one. Others of the job and the kind stay.
  void set(const Timer& timer);
  /// Removes all timers of the job.
  void drop(JobId job);
  /// True when the first timer's moment has come.
  bool is_due(TimePoint now) const { return !by_moment_.empty() && by_moment_.begin()->at <= now; }
  /// Removes and returns the first timer. Requires: there is one; not checked.
  Timer pop();
  std::size_t size() const { return by_moment_.size(); }

 private:
  struct ByJob {
    bool operator()(const Timer& a, const Timer& b) const {
      return std::tie(a.job, a) < std::tie(b.job, b);
    }
  };
  std::set<Timer> by_moment_;
  std::set<Timer, ByJob> by_job_;
};

}  // namespace muster

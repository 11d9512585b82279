// What is to happen to jobs when a moment comes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>

#include "base/time.h"
#include "model/ids.h"

namespace muster {

enum class TimerKind : std::uint8_t {
  kLimit,
  kWarning,
  kLease,
  kDeadline,
  kEligible,
  kTimeShare,
  kStop,
  kTrialLimit,
  kBudget,
};

struct Timer {
  TimePoint at;
  JobId job;
  std::uint32_t attempt = 0;
  TimerKind kind = TimerKind::kLimit;
  friend constexpr auto operator<=>(const Timer&, const Timer&) = default;
};

/// Timers by moment and by job: a job that has ended leaves none behind, however far its limit lay
/// ahead. Cost: O(log timers) for each of its own.
class JobTimers {
 public:
  /// The same timer set twice is one.
  void set(const Timer& timer);
  void drop(JobId job);
  /// The first one is due.
  bool is_due(TimePoint now) const { return !by_moment_.empty() && by_moment_.begin()->at <= now; }
  /// The first to come, taken out. Requires: there is one.
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

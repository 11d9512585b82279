// The order in which waiting jobs are looked at. The priority itself is decided elsewhere: here it
// is a number.
#pragma once

#include <compare>
#include <cstdint>

#include "base/time.h"
#include "model/ids.h"

namespace muster::sched {

/// A job's rank among the jobs of one partition tier: priority falling, then submission, then id,
/// rising; unless it was given the rank of another job, whose submission and id then count. `a < b`
/// means that a goes first. Source: Slurm's order of evaluation (slurm.conf(5), PriorityType).
struct Rank {
  std::int64_t priority = 0;
  TimePoint submit_time;
  JobId place;  ///< the job whose position it has: itself, as a rule
  JobId job;
  friend constexpr std::strong_ordering operator<=>(const Rank& a, const Rank& b) {
    if (a.priority != b.priority) return b.priority <=> a.priority;
    if (a.submit_time != b.submit_time) return a.submit_time <=> b.submit_time;
    if (a.place != b.place) return a.place <=> b.place;
    return a.job <=> b.job;
  }
  friend constexpr bool operator==(const Rank&, const Rank&) = default;
};

/// A rank within the whole queue: the partition's tier stands before everything else.
struct QueueRank {
  std::uint32_t tier = 0;
  Rank rank;
  friend constexpr std::strong_ordering operator<=>(const QueueRank& a, const QueueRank& b) {
    if (a.tier != b.tier) return b.tier <=> a.tier;
    return a.rank <=> b.rank;
  }
  friend constexpr bool operator==(const QueueRank&, const QueueRank&) = default;
};

}  // namespace muster::sched

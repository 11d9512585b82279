// Every answer is found by trying: a copy of the snapshot in which the job waits with another
// number of slots, and the fast path asked whether it would start. Halving finds the most slots in
// O(log(max)) tries.

#include "sched/elastic.h"

#include <algorithm>
#include <variant>

#include "base/check.h"
#include "sched/fast_path.h"

namespace muster::sched {
namespace {

void put(ClusterSnapshot& snapshot, PendingJob job) {
  snapshot.find_pending(job.id) != nullptr ? snapshot.update_pending(std::move(job))
                                           : snapshot.add_pending(std::move(job));
}

/// The cluster as it would be with one job back in the queue.
class WhatIf {
 public:
  WhatIf(const ClusterSnapshot& snapshot, const Plan& plan, const ElasticJob& job, TimePoint now,
         const RequestOf& request_of)
      : snapshot_(snapshot), plan_(plan), job_(job), now_(now), request_of_(request_of) {
    // What runs gives back its room first: it would start anew, in that room and what is beside
    // it.
    if (snapshot_.find_running(job.job.id) != nullptr) snapshot_.end_job(job.job.id);
  }

  /// The most slots from `low` to `high` on which the job starts at once, and `other` with it if
  /// there is one. What fits on more fits on fewer.
  std::optional<std::uint32_t> most(std::uint32_t low, std::uint32_t high,
                                    const PendingJob* other) {
    // The most is tried first: on an idle cluster that is the answer.
    if (starts(high, other)) return high;
    if (low == high || !starts(low, other)) return std::nullopt;
    while (high - low > 1) {
      const std::uint32_t middle = low + (high - low) / 2;
      (starts(middle, other) ? low : high) = middle;
    }
    return low;
  }

 private:
  bool starts(std::uint32_t slots, const PendingJob* other) {
    PendingJob changed = job_.job;
    changed.request = request_of_(changed.id, slots);
    if (changed.request == nullptr) return false;
    changed.later_requests.clear();  // a trial's slots are asked for in the same way everywhere
    if (other == nullptr) {
      put(snapshot_, std::move(changed));
      return would_start(snapshot_, job_.job.id).has_value();
    }
    // A copy for each try: the second job is judged with the first one started.
    ClusterSnapshot both = snapshot_;
    // The room that was kept for the other one is what it would start in.
    std::erase_if(plan_.windows, [&](const Window& window) { return window.job == other->id; });
    // The better ranked of the two would be started first, whichever it is.
    const bool is_first = changed.rank() < other->rank();
    const JobId first = is_first ? changed.id : other->id;
    const JobId second = is_first ? other->id : changed.id;
    put(both, std::move(changed));
    put(both, *other);
    const auto start = would_start(both, first);
    if (!start) return false;
    both.remove_pending(first);
    both.start_job({first, start->partition, start->nodes, start->end});
    return would_start(both, second).has_value();
  }
  std::optional<Start> would_start(ClusterSnapshot& snapshot, JobId job) const {
    snapshot.advance_time(now_);
    FastStart result = try_start_now(snapshot, plan_, job, now_);
    auto* start = std::get_if<Start>(&result);
    return start == nullptr ? std::nullopt : std::optional(std::move(*start));
  }

  ClusterSnapshot snapshot_;
  Plan plan_;
  const ElasticJob& job_;
  TimePoint now_;
  const RequestOf& request_of_;
};

bool shares_partition(const ClusterSnapshot& snapshot, const Lane& lane,
                      const PartitionList& partitions) {
  return std::ranges::any_of(lane.needs, [&](NeedIndex need) {
    return std::ranges::find(partitions, snapshot.need(need).partition) != partitions.end();
  });
}

/// True while only room is missing: what can never start waits for nobody.
bool waits_for_room(const Plan& plan, const ClusterSnapshot& snapshot, const Lane& lane) {
  return std::ranges::any_of(lane.needs, [&](NeedIndex index) {
    const Need& need = snapshot.need(index);
    // A need that the plan has not seen may be one that never can.
    const NeedOutcome* outcome = plan.outcome_of(index, need.serial);
    return outcome != nullptr && outcome->refusal == PendingReason::kNone &&
           need.refusal_of(lane.time_limit) == PendingReason::kNone;
  });
}

/// The best ranked job other than this one that is ready and waits for room where it runs.
const PendingJob* first_waiting(const ClusterSnapshot& snapshot, const Plan& plan,
                                const ElasticJob& job) {
  const PendingJob* first = nullptr;
  for (const Lane& lane : snapshot.lanes()) {
    if (lane.ready.empty() || !shares_partition(snapshot, lane, job.job.partitions)) continue;
    if (!waits_for_room(plan, snapshot, lane)) continue;
    for (const Rank& rank : lane.ready) {
      if (rank.job == job.job.id) continue;
      const PendingJob* candidate = snapshot.find_pending(rank.job);
      if (first == nullptr || candidate->rank() < first->rank()) first = candidate;
      break;
    }
  }
  return first;
}

/// What waits, asking for the least that it can do with.
PendingJob at_least(const PendingJob& waiting, std::span<const ElasticJob> jobs,
                    const RequestOf& request_of) {
  PendingJob least = waiting;
  const auto elastic =
      std::ranges::find(jobs, waiting.id, [](const ElasticJob& job) { return job.job.id; });
  if (elastic == jobs.end()) return least;
  if (auto request = request_of(waiting.id, elastic->min)) {
    least.request = std::move(request);
    least.later_requests.clear();
  }
  return least;
}

}  // namespace

std::optional<Resize> resize_of(const ElasticJob& job, const ClusterSnapshot& snapshot,
                                const Plan& plan, std::span<const ElasticJob> all, TimePoint now,
                                const RequestOf& request_of) {
  CHECK(plan.starts.empty(), "the plan's starts come first");
  std::optional<std::uint32_t> slots;
  if (!job.is_running) {
    slots = WhatIf(snapshot, plan, job, now, request_of).most(job.min, job.max, nullptr);
  } else if (!job.is_steady) {
    return std::nullopt;
  } else if (const PendingJob* waiting = first_waiting(snapshot, plan, job)) {
    // Nothing to give up: the waiting job waits for somebody else.
    if (job.slots <= job.min) return std::nullopt;
    const PendingJob least = at_least(*waiting, all, request_of);
    slots = WhatIf(snapshot, plan, job, now, request_of).most(job.min, job.slots - 1, &least);
  } else if (job.slots < job.max) {
    slots = WhatIf(snapshot, plan, job, now, request_of).most(job.slots + 1, job.max, nullptr);
  }
  if (!slots || *slots == job.slots) return std::nullopt;
  return Resize{job.job.id, *slots};
}

}  // namespace muster::sched

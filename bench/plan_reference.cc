#include "bench/plan_reference.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/check.h"
#include "sched/placement/node_order.h"

namespace muster::sched {
namespace {

using Placement = std::vector<NodeAmount>;

/// One job of the queue in one of its partitions.
struct Turn {
  QueueRank rank;
  PartitionIndex partition;
};

/// The job on what `free` says, in nodes of `order`; nothing when it does not fit.
std::optional<Placement> try_place(const ClusterSnapshot& snapshot, const FreeTable& free,
                                   const Turn& turn, const std::vector<NodeIndex>& order) {
  const PendingJob& job = *snapshot.find_pending(turn.rank.rank.job);
  const Need& need = snapshot.need_in(snapshot.lane(snapshot.lane_of(job.id)), turn.partition);
  if (need.refusal_of(job.time_limit) != PendingReason::kNone) return std::nullopt;
  return place(need.fitter(snapshot.inventory()), TableAvailability(free), need.limits, order,
               need.nodes() & snapshot.usable());
}

std::vector<Turn> queue_of(const ClusterSnapshot& snapshot, JobId last_job) {
  std::vector<Turn> queue;
  for (std::uint32_t id = 1; id <= last_job.value(); ++id) {
    const PendingJob* job = snapshot.find_pending(JobId(id));
    if (job == nullptr) continue;
    for (const PartitionIndex partition : job->partitions) {
      queue.push_back({{snapshot.partition(partition).priority_tier, job->rank()}, partition});
    }
  }
  std::ranges::stable_sort(queue, {}, &Turn::rank);
  return queue;
}

/// The queue in order, windows aside: what a pass without windows must start, and where.
std::map<JobId, Placement> starts_without_windows(const ClusterSnapshot& snapshot, JobId last_job) {
  const std::vector<NodeIndex> order = BestFitOrder(snapshot.inventory(), snapshot.free()).nodes();
  FreeTable free = snapshot.free();
  std::map<JobId, Placement> started;
  for (const Turn& turn : queue_of(snapshot, last_job)) {
    if (started.contains(turn.rank.rank.job)) continue;
    auto nodes = try_place(snapshot, free, turn, order);
    if (!nodes) continue;
    for (const NodeAmount& amount : *nodes) free.subtract(amount);
    started[turn.rank.rank.job] = std::move(*nodes);
  }
  return started;
}

void check_starts(const ClusterSnapshot& snapshot, const Plan& plan, JobId last_job) {
  const auto reference = starts_without_windows(snapshot, last_job);
  CHECK(plan.starts.size() == reference.size(), "{} starts, {} by the reference",
        plan.starts.size(), reference.size());
  for (const Start& start : plan.starts) {
    const auto found = reference.find(start.job);
    CHECK(found != reference.end(), "job {} must not start", start.job.value());
    CHECK(found->second == start.nodes, "job {} starts on other nodes", start.job.value());
  }
}

/// What is free at `when` if all goes as the plan has it; windows only when asked for.
FreeTable free_at(const ClusterSnapshot& snapshot, const Plan& plan, TimePoint when,
                  bool has_windows) {
  FreeTable free = snapshot.free();
  for (const ExpectedEnd& end : snapshot.ends()) {
    if (end.end > when) break;
    for (const NodeAmount& amount : snapshot.running_slot(end.slot).nodes) free.add(amount);
  }
  for (const Start& start : plan.starts) {
    if (start.end <= when) continue;
    for (const NodeAmount& amount : start.nodes) free.subtract(amount);
  }
  for (const Window& window : plan.windows) {
    if (!has_windows || window.start > when || window.end <= when) continue;
    for (const NodeAmount& amount : window.nodes) free.subtract(amount);
  }
  return free;
}

void check_node(const FreeTable& free, std::uint32_t n) {
  const NodeFree left = free.at(NodeIndex(n));
  CHECK(left.cpus >= 0, "node {} lacks {} CPUs", n, -left.cpus);
  CHECK(left.memory_mib >= 0, "node {} lacks {} MiB", n, -left.memory_mib);
  for (std::size_t kind = 0; kind < free.kind_count(); ++kind)
    CHECK(left.gres[kind] >= 0, "node {} lacks kind {}", n, kind);
}

/// What is free falls only now and where a window begins: looking there is looking everywhere.
void check_room(const ClusterSnapshot& snapshot, const Plan& plan) {
  std::set<TimePoint> instants = {plan.now};
  for (const Window& window : plan.windows) instants.insert(window.start);
  for (const TimePoint when : instants) {
    const FreeTable free = free_at(snapshot, plan, when, true);
    for (std::uint32_t n = 0; n < free.node_count(); ++n) check_node(free, n);
  }
}

/// Every instant at which something ends, in order: the first at which the job fits is its
/// window's. What started behind it is counted too, because backfilling must not have delayed it.
void check_first_window(const ClusterSnapshot& snapshot, const Plan& plan) {
  if (plan.windows.empty()) return;
  const Window& window = plan.windows.front();
  const std::vector<NodeIndex> order = static_order(snapshot.inventory());
  std::set<TimePoint> instants;
  for (const ExpectedEnd& end : snapshot.ends()) instants.insert(end.end);
  for (const Start& start : plan.starts) instants.insert(start.end);
  const PendingJob& job = *snapshot.find_pending(window.job);
  const auto fits = [&](TimePoint when) {
    const FreeTable free = free_at(snapshot, plan, when, false);
    return std::ranges::any_of(job.partitions, [&](PartitionIndex partition) {
      const bool is_of_tier = snapshot.partition(partition).priority_tier == window.rank.tier;
      return is_of_tier && try_place(snapshot, free, {window.rank, partition}, order).has_value();
    });
  };
  const auto first = std::ranges::find_if(instants, fits);
  CHECK(first != instants.end(), "job {} has a window and never fits", window.job.value());
  CHECK(*first == window.start, "job {}'s window begins {} s after it fits", window.job.value(),
        (window.start - *first).seconds());
}

}  // namespace

void check_plan(const ClusterSnapshot& snapshot, const Plan& plan, JobId last_job) {
  if (plan.options.reservation_depth == 0) check_starts(snapshot, plan, last_job);
  check_room(snapshot, plan);
  check_first_window(snapshot, plan);
}

}  // namespace muster::sched

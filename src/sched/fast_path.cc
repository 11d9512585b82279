#include "sched/fast_path.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "sched/placement/partition_fit.h"
#include "sched/timeline/timeline.h"

namespace muster::sched {
namespace {

NodeSet nodes_for(const ClusterSnapshot& snapshot, const Shape& shape, PartitionIndex partition) {
  return (shape.demand_in(partition).feasible & snapshot.partition_nodes(partition)) & snapshot.usable();
}

bool takes_work(const ClusterSnapshot& snapshot, const Shape& shape, PartitionIndex partition) {
  return partition_refusal(snapshot, *shape.demand_in(partition).request, shape.time_limit, partition) ==
         PendingReason::kNone;
}

/// The nodes that ready jobs ranked before `rank` could use through any partition that takes them.
NodeSet nodes_wanted_before(const ClusterSnapshot& snapshot, const Shape& shape, const Rank& best,
                            const QueueRank& rank) {
  NodeSet result(snapshot.node_count());
  for (const PartitionIndex partition : shape.partitions) {
    if (!takes_work(snapshot, shape, partition)) continue;
    if (QueueRank{snapshot.partition(partition).priority_tier, best} >= rank) continue;
    result |= nodes_for(snapshot, shape, partition);
  }
  return result;
}

/// Room as the plan keeps it: windows of jobs that still wait, other than the job's own.
Timeline timeline_with_windows(const ClusterSnapshot& snapshot, const Plan& plan, JobId job,
                               TimePoint now) {
  Timeline timeline(snapshot, now, plan.options);
  for (const Window& window : plan.windows) {
    if (window.job == job || snapshot.find_pending(window.job) == nullptr) continue;
    timeline.keep(window);
  }
  return timeline;
}

class FastPath {
 public:
  FastPath(const ClusterSnapshot& snapshot, const Plan& plan, JobId job, TimePoint now)
      : snapshot_(snapshot),
        plan_(plan),
        job_(*snapshot.find_pending(job)),
        shape_(snapshot.shape(snapshot.shape_of(job))),
        now_(now),
        freed_(freed_since_plan()) {}

  FastStart run() {
    if (!shape_.ready.contains(job_.rank())) return Hesitation::kNotReady;
    const auto newer = snapshot_.ready_since(plan_.revision);
    if (!newer || snapshot_.config_revision() > plan_.revision) return Hesitation::kPlanTooOld;
    Timeline timeline = timeline_with_windows(snapshot_, plan_, job_.id, now_);
    const BestFitOrder best_fit(snapshot_.facts(), timeline.free());
    const std::vector<NodeIndex>& order = best_fit.nodes();
    Hesitation hesitation = Hesitation::kNotReady;
    for (const PartitionIndex partition : shape_.partitions) {
      if (!takes_work(snapshot_, shape_, partition)) continue;
      const QueueRank rank{snapshot_.partition(partition).priority_tier, job_.rank()};
      const NodeSet all = nodes_for(snapshot_, shape_, partition);
      const NodeSet open = all - spoken_for(rank, timeline, order, *newer);
      if (auto nodes = placement_in(shape_, partition, timeline, order, open)) {
        return Start{job_.id, partition, now_ + shape_.time_limit, std::move(*nodes)};
      }
      if (hesitation == Hesitation::kOutranked) continue;
      hesitation = placement_in(shape_, partition, timeline, order, all) ? Hesitation::kOutranked
                                                                         : Hesitation::kNoRoom;
    }
    return hesitation;
  }

 private:
  /// Nodes on which this job has to wait for the next plan: those that gained room since and that a
  /// better ranked job could start on, and all that a better ranked job could use which the plan
  /// has not seen.
  NodeSet spoken_for(const QueueRank& rank, const Timeline& timeline,
                     std::span<const NodeIndex> order,
                     std::span<const std::pair<std::uint64_t, JobId>> newer) const {
    NodeSet wanted(snapshot_.node_count());
    if (!freed_.empty()) {
      for (const Shape& shape : snapshot_.shapes()) {
        if (shape.serial == 0 || shape.ready.empty()) continue;
        const NodeSet nodes =
            nodes_wanted_before(snapshot_, shape, *shape.ready.begin(), rank) & freed_;
        if (nodes.empty() || nodes == (wanted & nodes)) continue;
        if (could_start(shape, timeline, order, nodes)) wanted |= nodes;
      }
    }
    for (const auto& [revision, id] : newer) {
      const PendingJob* other = snapshot_.find_pending(id);
      if (other == nullptr || id == job_.id) continue;
      const Shape& shape = snapshot_.shape(snapshot_.shape_of(id));
      if (shape.ready.contains(other->rank()))
        wanted |= nodes_wanted_before(snapshot_, shape, other->rank(), rank);
    }
    return wanted;
  }

  NodeSet freed_since_plan() const {
    NodeSet freed(snapshot_.node_count());
    for (std::uint32_t i = 0; i < snapshot_.node_count(); ++i) {
      freed.put(NodeIndex(i), snapshot_.freed_revision(NodeIndex(i)) > plan_.revision);
    }
    return freed;
  }

  /// Could a job of the shape start now, using some of `freed`? Without them it could not when the
  /// plan was made.
  bool could_start(const Shape& shape, const Timeline& timeline, std::span<const NodeIndex> order,
                   const NodeSet& freed) const {
    for (const PartitionIndex partition : shape.partitions) {
      if (!takes_work(snapshot_, shape, partition)) continue;
      const NodeSet nodes = nodes_for(snapshot_, shape, partition);
      if (has_candidate(shape, partition, timeline, nodes & freed) &&
          placement_in(shape, partition, timeline, order, nodes)) {
        return true;
      }
    }
    return false;
  }
  bool has_candidate(const Shape& shape, PartitionIndex partition, const Timeline& timeline,
                     const NodeSet& nodes) const {
    const Timeline::Interval interval(timeline, now_ + shape.time_limit);
    const Demand& demand = shape.demand_in(partition);
    const Fitter fitter(snapshot_.facts(), demand, node_rule(snapshot_.facts(), *demand.request, partition));
    bool result = false;
    nodes.for_each([&](NodeIndex node) {
      result = result || candidate_at(fitter, node, interval.at(node)).has_value();
    });
    return result;
  }

  std::optional<std::vector<NodeAmount>> placement_in(const Shape& shape, PartitionIndex partition,
                                                      const Timeline& timeline,
                                                      std::span<const NodeIndex> order,
                                                      const NodeSet& allowed) const {
    const Timeline::Interval interval(timeline, now_ + shape.time_limit);
    const Demand& demand = shape.demand_in(partition);
    const ResourceRequest& request = *demand.request;
    const Fitter fitter(snapshot_.facts(), demand,
                        node_rule(snapshot_.facts(), request, partition));
    const NodeLimits limits = node_limits(request, snapshot_.partition(partition)).limits;
    Seeking how{Effort::kQuick};  // what takes longer to place waits for the plan
    return place_widest(fitter, interval, limits, order, allowed, &how);
  }

  const ClusterSnapshot& snapshot_;
  const Plan& plan_;
  const PendingJob& job_;
  const Shape& shape_;
  TimePoint now_;
  NodeSet freed_;
};

}  // namespace

FastStart try_start_now(const ClusterSnapshot& snapshot, const Plan& plan, JobId job,
                        TimePoint now) {
  CHECK(snapshot.find_pending(job) != nullptr, "job {} is not pending", job.value());
  CHECK(snapshot.revision() >= plan.revision, "the plan is of a later state");
  return FastPath(snapshot, plan, job, now).run();
}

}  // namespace muster::sched

#include "sched/jobs_ahead.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "sched/snapshot/partition_fit.h"

namespace muster::sched {
namespace {

/// Where a job of the shape may come to lie in a partition now: one that names all the nodes it
/// needs, on those.
NodeSet nodes_in(const ClusterSnapshot& snapshot, const Shape& shape, PartitionIndex partition) {
  const Demand& demand = shape.demand_in(partition);
  const ResourceRequest& request = *demand.request;
  const std::uint32_t named = demand.required_count;
  const bool is_settled =
      named != 0 &&
      (named == request.max_nodes ||
       // Devices of the whole job may need more nodes than its tasks.
       (demand.per_job.empty() && named >= std::max(request.min_nodes, request.task_count)));
  NodeSet nodes = demand.feasible_nodes & snapshot.partition_nodes(partition) & snapshot.usable();
  if (is_settled) nodes &= demand.required;
  return nodes;
}

/// The partitions that take the shape's jobs now, each with its tier and nodes.
template <class F>
void for_each_partition(const ClusterSnapshot& snapshot, const Shape& shape, F&& f) {
  for (const PartitionIndex partition : shape.partitions) {
    const PendingReason refusal = partition_refusal(snapshot, *shape.demand_in(partition).request,
                                                    shape.time_limit, partition);
    if (refusal == PendingReason::kNone)
      f(snapshot.partition(partition).priority_tier, nodes_in(snapshot, shape, partition));
  }
}

}  // namespace

QueuePosition::QueuePosition(const ClusterSnapshot& snapshot, const PendingJob& job)
    : snapshot_(snapshot), rank_(job.rank()) {
  for_each_partition(snapshot, snapshot.shape(snapshot.shape_of(job.id)),
                     [&](std::uint32_t tier, NodeSet nodes) {
                       reaches_.push_back({tier, std::move(nodes)});
                     });
  std::ranges::stable_sort(reaches_, std::greater<>(), &Reach::tier);
  for (std::size_t i = 0; i < reaches_.size(); ++i) {
    for (std::size_t higher = 0; higher < i; ++higher) reaches_[i].nodes -= reaches_[higher].nodes;
  }
}

bool QueuePosition::is_behind(const QueueRank& other, const std::vector<NodeAmount>& nodes) const {
  return std::ranges::any_of(reaches_, [&](const Reach& own) {
    return other < QueueRank{own.tier, rank_} &&
           std::ranges::any_of(
               nodes, [&](const NodeAmount& amount) { return own.nodes.test(amount.node); });
  });
}

JobsAhead QueuePosition::ahead(std::size_t names) const {
  JobsAhead ahead;
  std::vector<QueueRank> best;
  for (const Shape& shape : snapshot_.shapes()) {
    if (shape.serial == 0 || shape.ready.empty()) continue;
    // The tiers at which the two meet; of those the pair that favours the other most.
    std::optional<std::uint32_t> met;
    bool is_higher = false;
    for_each_partition(snapshot_, shape, [&](std::uint32_t tier, const NodeSet& nodes) {
      for (const Reach& own : reaches_) {
        if (tier < own.tier || !nodes.intersects(own.nodes)) continue;
        met = std::max(met.value_or(0), tier);
        is_higher = is_higher || tier > own.tier;
      }
    });
    if (!met) continue;
    std::size_t taken = 0;
    for (const Rank& rank : shape.ready) {
      if (!is_higher && !(rank < rank_)) break;
      if (rank == rank_) continue;
      ahead.count += snapshot_.find_pending(rank.job)->startable_count();
      if (taken++ < names) best.push_back({*met, rank});
    }
  }
  std::ranges::sort(best);
  best.resize(std::min(best.size(), names));
  for (const QueueRank& other : best) ahead.first.push_back(other.rank.job);
  return ahead;
}

}  // namespace muster::sched

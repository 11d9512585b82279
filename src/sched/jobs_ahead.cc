#include "sched/jobs_ahead.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "sched/snapshot/partition_fit.h"

namespace muster::sched {
namespace {

/// True for a job that names all the nodes it needs, and comes to lie on no other.
bool is_settled(const Demand& demand) {
  const ResourceRequest& request = *demand.request;
  const std::uint32_t named = demand.required_count;
  if (named == 0) return false;
  // Devices of the whole job may need more nodes than its tasks.
  return named == request.max_nodes ||
         (demand.per_job.empty() && named >= std::max(request.min_nodes, request.task_count));
}

/// Where a job of the shape may come to lie in a partition now.
NodeSet nodes_in(const ClusterSnapshot& snapshot, const Shape& shape, PartitionIndex partition) {
  const Demand& demand = shape.demand_in(partition);
  NodeSet nodes = demand.feasible_nodes & snapshot.partition_nodes(partition) & snapshot.usable();
  if (is_settled(demand)) nodes &= demand.required;
  return nodes;
}
/// Whether that node is one of nodes_in().
bool has_node(const ClusterSnapshot& snapshot, const Shape& shape, PartitionIndex partition,
              NodeIndex node) {
  const Demand& demand = shape.demand_in(partition);
  return snapshot.partition_nodes(partition).test(node) && demand.feasible_nodes.test(node) &&
         snapshot.usable().test(node) && (!is_settled(demand) || demand.required.test(node));
}

/// The partitions that take the shape's jobs now.
template <class F>
void for_each_partition(const ClusterSnapshot& snapshot, const Shape& shape, F&& f) {
  for (const PartitionIndex partition : shape.partitions) {
    const PendingReason refusal = partition_refusal(snapshot, *shape.demand_in(partition).request,
                                                    shape.time_limit, partition);
    if (refusal == PendingReason::kNone) f(partition);
  }
}

/// Nodes on which a job is reached at one tier.
struct Reach {
  std::uint32_t tier = 0;
  NodeSet nodes;
};

/// Disjoint. Requires: the partitions are in order, the highest tier first.
std::vector<Reach> reaches_of(const ClusterSnapshot& snapshot, const Shape& shape,
                              const std::vector<PartitionIndex>& partitions) {
  std::vector<Reach> reaches;
  for (const PartitionIndex partition : partitions) {
    NodeSet nodes = nodes_in(snapshot, shape, partition);
    for (const Reach& higher : reaches) nodes -= higher.nodes;
    reaches.push_back({snapshot.partition(partition).priority_tier, std::move(nodes)});
  }
  return reaches;
}

}  // namespace

QueuePosition::QueuePosition(const ClusterSnapshot& snapshot, const PendingJob& job)
    : snapshot_(snapshot), shape_(snapshot.shape(snapshot.shape_of(job.id))), rank_(job.rank()) {
  for_each_partition(snapshot, shape_,
                     [&](PartitionIndex partition) { partitions_.push_back(partition); });
  std::ranges::stable_sort(partitions_, std::greater<>(), [&](PartitionIndex partition) {
    return snapshot.partition(partition).priority_tier;
  });
}

bool QueuePosition::is_behind(const QueueRank& other, const std::vector<NodeAmount>& nodes) const {
  const auto is_earlier = [&](PartitionIndex partition) {
    return other < QueueRank{snapshot_.partition(partition).priority_tier, rank_};
  };
  // The last is that of the lowest tier, where the most are earlier.
  if (partitions_.empty() || !is_earlier(partitions_.back())) return false;
  return std::ranges::any_of(nodes, [&](const NodeAmount& amount) {
    for (const PartitionIndex partition : partitions_) {
      if (has_node(snapshot_, shape_, partition, amount.node)) return is_earlier(partition);
    }
    return false;
  });
}

JobsAhead QueuePosition::ahead(std::size_t names) const {
  JobsAhead ahead;
  std::vector<QueueRank> best;
  const std::vector<Reach> reaches = reaches_of(snapshot_, shape_, partitions_);
  for (const Shape& shape : snapshot_.shapes()) {
    if (shape.serial == 0 || shape.ready.empty()) continue;
    // The tiers at which the two meet; of those the pair that favours the other most.
    std::optional<std::uint32_t> met;
    bool is_higher = false;
    for_each_partition(snapshot_, shape, [&](PartitionIndex partition) {
      const std::uint32_t tier = snapshot_.partition(partition).priority_tier;
      const NodeSet nodes = nodes_in(snapshot_, shape, partition);
      for (const Reach& own : reaches) {
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

#include "sched/jobs_ahead.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

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

/// Where a job of the need may come to lie now.
NodeSet nodes_of(const ClusterSnapshot& snapshot, const Need& need) {
  NodeSet nodes = need.nodes() & snapshot.usable();
  if (is_settled(need.demand)) nodes &= need.demand.required;
  return nodes;
}
/// Whether that node is one of nodes_of().
bool has_node(const ClusterSnapshot& snapshot, const Need& need, NodeIndex node) {
  return need.nodes().test(node) && snapshot.usable().test(node) &&
         (!is_settled(need.demand) || need.demand.required.test(node));
}

std::uint32_t tier_of(const ClusterSnapshot& snapshot, const Need& need) {
  return snapshot.partition(need.partition).priority_tier;
}

/// The lane's needs in the partitions that take its jobs now.
template <class F>
void for_each_need(const ClusterSnapshot& snapshot, const Lane& lane, F&& f) {
  for (const NeedIndex index : lane.needs) {
    const Need& need = snapshot.need(index);
    if (need.refusal_of(lane.time_limit) == PendingReason::kNone) f(need);
  }
}

/// Nodes on which a job is reached at one tier.
struct Reach {
  std::uint32_t tier = 0;
  NodeSet nodes;
};

/// Disjoint. Requires: the needs are in order, the highest tier first.
std::vector<Reach> reaches_of(const ClusterSnapshot& snapshot,
                              const std::vector<const Need*>& needs) {
  std::vector<Reach> reaches;
  for (const Need* need : needs) {
    NodeSet nodes = nodes_of(snapshot, *need);
    for (const Reach& higher : reaches) nodes -= higher.nodes;
    reaches.push_back({tier_of(snapshot, *need), std::move(nodes)});
  }
  return reaches;
}

}  // namespace

QueuePosition::QueuePosition(const ClusterSnapshot& snapshot, const PendingJob& job)
    : snapshot_(snapshot), rank_(job.rank()) {
  for_each_need(snapshot, snapshot.lane(snapshot.lane_of(job.id)),
                [&](const Need& need) { needs_.push_back(&need); });
  std::ranges::stable_sort(needs_, std::greater<>(),
                           [&](const Need* need) { return tier_of(snapshot, *need); });
}

bool QueuePosition::is_behind(const QueueRank& other, const std::vector<NodeAmount>& nodes) const {
  const auto is_earlier = [&](const Need* need) {
    return other < QueueRank{tier_of(snapshot_, *need), rank_};
  };
  // The last is that of the lowest tier, where the most are earlier.
  if (needs_.empty() || !is_earlier(needs_.back())) return false;
  return std::ranges::any_of(nodes, [&](const NodeAmount& amount) {
    for (const Need* need : needs_) {
      if (has_node(snapshot_, *need, amount.node)) return is_earlier(need);
    }
    return false;
  });
}

JobsAhead QueuePosition::ahead(std::size_t names) const {
  JobsAhead ahead;
  std::vector<QueueRank> best;
  const std::vector<Reach> reaches = reaches_of(snapshot_, needs_);
  for (const Lane& lane : snapshot_.lanes()) {
    if (lane.ready.empty()) continue;
    // The tiers at which the two meet; of those the pair that favours the other most.
    std::optional<std::uint32_t> met;
    bool is_higher = false;
    for_each_need(snapshot_, lane, [&](const Need& need) {
      const std::uint32_t tier = tier_of(snapshot_, need);
      const NodeSet nodes = nodes_of(snapshot_, need);
      for (const Reach& own : reaches) {
        if (tier < own.tier || !nodes.intersects(own.nodes)) continue;
        met = std::max(met.value_or(0), tier);
        is_higher = is_higher || tier > own.tier;
      }
    });
    if (!met) continue;
    std::size_t taken = 0;
    for (const Rank& rank : lane.ready) {
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

// Answers whether a demand fits on one node, with how many tasks, and what exactly it would use
// there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sched/placement/amounts.h"
#include "sched/placement/demand.h"

namespace muster::sched {

/// Says what is free on each node at the instant or over the interval in question.
class Availability {
 public:
  virtual ~Availability() = default;
  /// Returns what is free on the node. Lifetime: the view holds until the next call.
  virtual NodeFree at(NodeIndex node) const = 0;
  /// Returns the inventory when every node has all that it ever has, so that nodes of one class are
  /// alike; else null.
  virtual const ClusterInventory* whole() const { return nullptr; }
};

/// A table as it is now.
class TableAvailability final : public Availability {
 public:
  explicit TableAvailability(const FreeTable& table) : table_(table) {}
  NodeFree at(NodeIndex node) const override { return table_.at(node); }

 private:
  const FreeTable& table_;
};

/// The cluster when it is empty.
class WholeCluster final : public Availability {
 public:
  explicit WholeCluster(const ClusterInventory& inventory) : inventory_(inventory) {}
  NodeFree at(NodeIndex node) const override { return inventory_.total.at(node); }
  const ClusterInventory* whole() const override { return &inventory_; }

 private:
  const ClusterInventory& inventory_;
};

/// How a partition changes what a job may use of one node.
struct NodeRule {
  bool is_exclusive = false;            ///< whole nodes, by request or by partition
  std::optional<GresKindId> cpu_quota;  ///< the partition's own share of each node's CPUs
};

/// Answers for one demand under one rule. All memory in MiB. Holds references: its arguments
/// outlive it. Shape: `shares` says how much the node contributes to each per-job need.
class Fitter {
 public:
  Fitter(const ClusterInventory& inventory, const Demand& demand, NodeRule rule)
      : inventory_(inventory),
        demand_(demand),
        request_(*demand.request),
        rule_(rule),
        least_tasks_(least_tasks(request_)) {}

  /// Returns the most tasks that fit, at most the job's own number; 0: none, or too few for the job
  /// to be complete on as many nodes as it may have. Monotone in `free`.
  std::uint32_t task_capacity(NodeIndex node, NodeFree free, const Shares& shares) const;
  /// Returns the most of each per-job need that fits beside one task. Where they do not all fit,
  /// each has its part by the job's numbers of them. Cost: a check for each device of the node.
  Shares share_capacity(NodeIndex node, NodeFree free) const;
  /// Returns how many tasks fit into `cpus` usable CPUs of the node; the threads that
  /// --threads-per-core leaves idle are not counted.
  std::int64_t tasks_in(std::int64_t cpus) const {
    return cpus / std::max(1U, request_.cpus_per_task);
  }
  /// Returns the usable CPUs of one of the node's cores: the least that the job uses there.
  std::int64_t core_cpus(NodeIndex node) const {
    return usable_of_core(inventory_.nodes[node.value()]);
  }
  /// Returns what `tasks` tasks use. Requires: tasks <= task_capacity(node, free, shares).
  /// Determinism: an untyped need uses the first kind that holds all of it, else all kinds in
  /// order.
  NodeAmount amount(NodeIndex node, NodeFree free, std::uint32_t tasks, const Shares& shares) const;

  /// True when more nodes are asked for than of this per-job need, so that some nodes have none of
  /// it. Otherwise every node contributes.
  bool may_lack(std::size_t job_need) const {
    return demand_.per_job[job_need].count < request_.min_nodes;
  }

  bool is_exclusive() const { return rule_.is_exclusive; }
  const Demand& demand() const { return demand_; }
  const ClusterInventory& inventory() const { return inventory_; }
  const ResourceRequest& request() const { return request_; }

 private:
  struct Need {
    std::int64_t cpus = 0;  ///< with the threads that --threads-per-core leaves idle
    std::int64_t memory_mib = 0;
  };
  static std::uint32_t least_tasks(const ResourceRequest& request);
  std::uint32_t gpu_count(std::uint32_t tasks, const Shares& shares) const;
  std::int64_t usable_of_core(const NodeInventory& node) const;
  std::int64_t cpus_for(const NodeInventory& node, std::uint32_t tasks, std::uint32_t gpus) const;
  std::int64_t memory_for(const NodeInventory& node, std::int64_t cpus, std::uint32_t gpus) const;
  Need need_on(const NodeInventory& node, std::uint32_t tasks, const Shares& shares) const;
  std::int64_t usable_cpus(NodeFree free) const;
  bool is_untouched(NodeIndex node, NodeFree free) const;
  bool gres_fits(NodeFree free, std::uint32_t tasks, const Shares& shares) const;
  bool fits(NodeIndex node, NodeFree free, std::uint32_t tasks, const Shares& shares) const;
  std::uint32_t task_bound(NodeFree free, const Shares& shares) const;
  std::vector<GresCount> divide_gres(NodeIndex node, NodeFree free, std::uint32_t tasks,
                                     const Shares& shares) const;

  const ClusterInventory& inventory_;
  const Demand& demand_;
  const ResourceRequest& request_;
  NodeRule rule_;
  std::uint32_t least_tasks_ = 1;  ///< a node that holds fewer is of no use
};

}  // namespace muster::sched

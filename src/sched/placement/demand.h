// A resource request made ready for a cluster: names resolved to ids, constraints to node sets.
// Compiled once per need and configuration, used for every node looked at.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "model/cluster_config.h"
#include "model/resource_request.h"
#include "sched/placement/amounts.h"
#include "sched/placement/node_set.h"

namespace muster::sched {

/// The properties of one node that only a configuration changes. Memory in MiB.
struct NodeInventory {
  std::uint32_t cpus = 0;
  std::uint32_t sockets = 1;
  std::uint32_t cores_per_socket = 1;
  std::uint32_t threads_per_core = 1;
  std::uint32_t core_unit = 1;  ///< CPUs are given out in multiples of this: threads per core, or 1
  std::uint32_t tmp_disk_mib = 0;
  std::uint32_t weight = 1;
  std::uint64_t memory_mib = 0;
};

/// The configured cluster with its names interned.
struct ClusterInventory {
  ClusterConfig config;
  std::vector<NodeInventory> nodes;
  std::vector<GresKind> kinds;
  FreeTable total;  ///< what an empty cluster has free, quotas included
  NodeSet all;
  std::vector<NodeSet> partition_nodes;
  std::vector<std::uint32_t>
      class_of;  ///< by node: nodes of a class differ in their names and partitions alone
  std::vector<NodeIndex> classes;    ///< by class: one of its nodes
  std::vector<NodeIndex> by_weight;  ///< all nodes, in rising weight

  static std::shared_ptr<const ClusterInventory> create(ClusterConfig config);
  /// Returns the kinds that a request of (name, type) may use; an empty type matches every type.
  /// Rising.
  std::vector<GresKindId> matching_kinds(const std::string& name, const std::string& type) const;
  std::size_t node_count() const { return nodes.size(); }

  /// A partition that may use only some CPUs of each node (MaxCPUsPerNode) has a quota there, kept
  /// as one more kind of resource behind the real ones, so that all that holds for resources, also
  /// in the future, holds for it. Nullopt: no limit.
  std::optional<GresKindId> cpu_quota(PartitionIndex partition) const;
  /// Returns `amount` with the part of the quota that a job of `partition` uses, whatever it had of
  /// quotas before.
  NodeAmount charged(NodeAmount amount, PartitionIndex partition) const;

  std::vector<std::optional<GresKindId>> cpu_quotas;  ///< per partition
};

/// How many per-job resources one request may name (--gpus=4 plus three others).
inline constexpr std::size_t kJobNeedMax = 4;
/// How much one node contributes to each per-job need.
using Shares = std::array<std::uint32_t, kJobNeedMax>;

/// An amount of any of `kinds`.
struct GresNeed {
  std::vector<GresKindId> kinds;
  std::uint32_t count = 0;
  bool is_gpu = false;
};

/// One inequality that a node must meet: per_node + tasks * per_task + shares <= sum of free over
/// `kinds`. Typed needs give one each, names with an untyped need one over all their types;
/// together they are necessary and sufficient for a division of the pools to exist.
struct GresCheck {
  std::vector<GresKindId> kinds;
  std::uint32_t per_node = 0;
  std::uint32_t per_task = 0;
  std::uint32_t job_needs = 0;  ///< bit i: per-job need i draws on these kinds
};

/// A compiled request. `feasible_nodes` holds the nodes that could carry at least one task when
/// empty, whatever partition they are in and whatever state.
struct Demand {
  std::shared_ptr<const ResourceRequest> request;
  std::vector<GresNeed> per_node;
  std::vector<GresNeed> per_task;
  std::vector<GresNeed> per_job;
  std::vector<GresCheck> checks;
  NodeSet feasible_nodes;
  std::optional<NodeSet> preferred;  ///< of these, those that have what the job would rather have;
                                     ///< nullopt: it has no wish
  NodeSet required;
  std::uint32_t required_count = 0;
  bool has_unknown_name = false;  ///< a required node or resource that the cluster does not have

  static Demand compile(std::shared_ptr<const ResourceRequest> request,
                        const ClusterInventory& inventory);
};

/// Returns the nodes that have one alternative's features, are not excluded, and are large enough
/// in sockets, cores, threads and temporary disk.
NodeSet matching_nodes(const ResourceRequest& request, const ClusterInventory& inventory);

}  // namespace muster::sched

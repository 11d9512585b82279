// Nodes: their configuration, their condition, and which of their CPUs, memory and devices jobs
// hold. Partitions are in ClusterState.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "model/allocation.h"
#include "model/cluster_config.h"
#include "model/ids.h"

namespace muster {

/// One node. Invariant: the used sets are the disjoint unions of what `jobs` hold of the node, and
/// the used memory is the sum.
struct Node {
  NodeConfig config;
  NodeStatus status;
  Bitmap used_cpus;
  std::uint64_t used_memory_mib = 0;
  std::map<std::string, Bitmap, std::less<>> used_gres;  ///< by resource name
  std::vector<JobId> jobs;                               ///< that hold part of it, rising
  CachedHash config_hash;
  CachedHash hash;  ///< as it stands in the table's sum
  /// True when the node's conditions admit new jobs; that says nothing of what is free.
  bool can_accept_work() const { return (status.conditions & node_condition::kNoNewWork) == 0; }
};

/// A node gets its index with its first configuration and has it for ever, because grants and
/// partitions name nodes by index. Changed by ClusterState alone. Invariant: `hash()` is the sum of
/// the nodes' hashes. A pointer or reference to a node is valid until configure().
class NodeTable {
 public:
  /// Sets the configuration of nodes 0, 1, …; what lies beyond the known ones is added. Conditions
  /// and grants stay, and so does a known node beyond the end of `nodes`. Requires: no node changes
  /// its name or its index; checked.
  void configure(const std::vector<NodeConfig>& nodes);
  /// Returns the node; null: there is none.
  const Node* find(NodeIndex index) const {
    return index.value() < nodes_.size() ? &nodes_[index.value()] : nullptr;
  }
  /// Returns a node. Requires: there is one of that index; checked. Who changes it calls rehash().
  Node& at(NodeIndex index);
  const Node& at(NodeIndex index) const;
  /// Returns the node of that name. Nullopt: none has it. Cost: O(log nodes).
  std::optional<NodeIndex> find_by_name(std::string_view name) const;
  /// Allocates `grant` to the job and rehashes the node. CHECKs that no CPU and no device of it is
  /// allocated already; whether the memory suffices is not checked here. Requires: the job holds
  /// nothing of this node.
  void allocate(JobId job, const NodeGrant& grant);
  /// Releases all that the job holds of the node, and rehashes that. Requires: `grant` is what was
  /// allocated to the job. CHECKs that the job is on the node and that everything in the grant is
  /// in use, but not that it is this job that uses it.
  void release(JobId job, const NodeGrant& grant);
  /// Hashes a node's configuration again: called after every change of it from outside, before
  /// rehash().
  void rehash_config(NodeIndex index);
  /// Replaces a node's hash in the sum: called after every change of it from outside.
  void rehash(NodeIndex index);

  const std::vector<Node>& all() const { return nodes_; }
  std::uint64_t hash() const { return hash_; }

 private:
  std::vector<Node> nodes_;
  std::map<std::string, NodeIndex, std::less<>> by_name_;
  std::uint64_t hash_ = 0;
};

/// Returns the indices of a node's devices of one name and type, e.g. all "gpu" of type "h100"; an
/// empty type means all of the name. Devices of one name are numbered from 0 through its pools in
/// the order of the configuration, whatever their types. Empty: it has none.
Bitmap devices_of(const NodeConfig& node, std::string_view name, std::string_view type);

}  // namespace muster

// Nodes and partitions: their configuration, condition, and what of each node is given to which
// job.
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

/// One node. Invariant: the used sets are the disjoint unions of the grants of `jobs`.
struct Node {
  NodeConfig config;
  NodeStatus status;
  Bitmap used_cpus;
  std::uint64_t used_memory_mib = 0;
  std::map<std::string, Bitmap, std::less<>> used_gres;  ///< by resource name
  std::vector<JobId> jobs;                               ///< that hold part of it, rising
  CachedHash config_hash;
  CachedHash hash;  ///< as it stands in the table's sum
  bool can_take_work() const { return (status.conditions & node_condition::kNoNewWork) == 0; }
};

/// Changed by ClusterState::apply alone.
class NodeTable {
 public:
  void configure(const std::vector<NodeConfig>& nodes);
  const Node* find(NodeIndex index) const {
    return index.value() < nodes_.size() ? &nodes_[index.value()] : nullptr;
  }
  Node& at(NodeIndex index);
  const Node& at(NodeIndex index) const;
  /// Nullopt: no node of that name.
  std::optional<NodeIndex> find_by_name(std::string_view name) const;
  /// Gives `grant` to the job. CHECKs that nothing of it is given already.
  void take(JobId job, const NodeGrant& grant);
  /// Takes it back. CHECKs that the job had it.
  void give_back(JobId job, const NodeGrant& grant);
  /// To be called after every change of a node's configuration, before `rehash`.
  void rehash_config(NodeIndex index);
  /// To be called after every change of a node.
  void rehash(NodeIndex index);

  const std::vector<Node>& all() const { return nodes_; }
  std::uint64_t hash() const { return hash_; }

 private:
  std::vector<Node> nodes_;
  std::map<std::string, NodeIndex, std::less<>> by_name_;
  std::uint64_t hash_ = 0;
};

/// The indices of a node's devices of one name and type, e.g. all "gpu" of type "h100". An empty
/// type: all of the name.
Bitmap devices_of(const NodeConfig& node, std::string_view name, std::string_view type);

}  // namespace muster

#include "engine/config_alignment.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace muster {
namespace {

/// Puts the nodes in order and says where each of the configuration's own places has gone.
/// Jobs refer to nodes by index: one that the file no longer names keeps its index, and new ones
/// come last.
std::vector<NodeIndex> align_nodes(const ClusterState& state, ClusterConfig& config) {
  // By name: the order in the file is of no account.
  std::map<std::string_view, std::size_t> place_of;
  for (std::size_t i = 0; i < config.nodes.size(); ++i) place_of[config.nodes[i].name] = i;
  std::vector<NodeIndex> moved(config.nodes.size());
  std::vector<bool> is_placed(config.nodes.size(), false);
  std::vector<NodeConfig> nodes;
  for (const Node& node : state.nodes().all()) {
    const auto found = place_of.find(node.config.name);
    if (found != place_of.end()) {
      moved[found->second] = NodeIndex(static_cast<std::uint32_t>(nodes.size()));
      is_placed[found->second] = true;
    }
    // Unnamed nodes keep their last definition, for jobs that run there and for records.
    nodes.push_back(found != place_of.end() ? config.nodes[found->second] : node.config);
  }
  for (std::size_t i = 0; i < config.nodes.size(); ++i) {
    if (is_placed[i]) continue;
    moved[i] = NodeIndex(static_cast<std::uint32_t>(nodes.size()));
    nodes.push_back(config.nodes[i]);
  }
  config.nodes = std::move(nodes);
  return moved;
}

/// A partition that the file no longer names keeps its index, too: jobs refer to it, and nothing
/// starts there any more.
PartitionConfig without_nodes(PartitionConfig partition) {
  partition.nodes.clear();
  partition.nodes_text.clear();
  partition.state = PartitionState::kInactive;
  partition.is_default = false;
  return partition;
}

void align_partitions(const ClusterState& state, ClusterConfig& config) {
  std::vector<PartitionConfig> partitions;
  for (const PartitionConfig& known : state.partitions()) {
    const auto found = std::ranges::find(config.partitions, known.name, &PartitionConfig::name);
    partitions.push_back(found != config.partitions.end() ? *found : without_nodes(known));
  }
  for (const PartitionConfig& partition : config.partitions) {
    const bool is_known = std::ranges::find(state.partitions(), partition.name,
                                            &PartitionConfig::name) != state.partitions().end();
    if (!is_known) partitions.push_back(partition);
  }
  config.partitions = std::move(partitions);
}

std::set<std::string_view> names_of(const ClusterConfig& config) {
  std::set<std::string_view> names;
  for (const NodeConfig& node : config.nodes) names.insert(node.name);
  return names;
}

}  // namespace

std::shared_ptr<const ClusterConfig> aligned_config(const ClusterState& state,
                                                    std::shared_ptr<const ClusterConfig> config) {
  // A copy: the configuration that was read is shared with those who show it.
  auto aligned = std::make_shared<ClusterConfig>(*config);
  const std::vector<NodeIndex> moved = align_nodes(state, *aligned);
  for (PartitionConfig& partition : aligned->partitions) {
    for (NodeIndex& node : partition.nodes) node = moved.at(node.value());
    // In rising order, in which they are looked up (view_of).
    std::ranges::sort(partition.nodes);
  }
  align_partitions(state, *aligned);
  return aligned;
}

bool is_unnamed(const Node& node) {
  return (node.status.conditions & node_condition::kDownByAbsence) != 0;
}

std::vector<NodeChanged> changes_of_named_nodes(const ClusterState& state,
                                                const ClusterConfig& named) {
  const std::set<std::string_view> names = names_of(named);
  std::vector<NodeChanged> changes;
  for (std::uint32_t i = 0; i < state.nodes().all().size(); ++i) {
    const Node& node = state.nodes().at(NodeIndex(i));
    const bool is_named = names.contains(node.config.name);
    // It is as the state has it already.
    if (is_named != is_unnamed(node)) continue;
    NodeChanged change;
    change.node = NodeIndex(i);
    (is_named ? change.clear_conditions : change.set_conditions) = node_condition::kDownByAbsence;
    change.reason = reason_after(node.status, {change.set_conditions, change.clear_conditions});
    changes.push_back(std::move(change));
  }
  return changes;
}

std::vector<NodeChanged> changes_of_new_nodes(const ClusterState& state, std::size_t known,
                                              const ClusterConfig& named,
                                              const std::map<std::string, NodeStatus>& first) {
  const std::set<std::string_view> names = names_of(named);
  std::vector<NodeChanged> changes;
  for (std::size_t i = 0; i < state.nodes().all().size(); ++i) {
    const NodeIndex index(static_cast<std::uint32_t>(i));
    const Node& node = state.nodes().at(index);
    const auto found = first.find(node.config.name);
    const std::uint16_t said = found == first.end() ? 0 : found->second.conditions;
    const bool has_come = (node.status.conditions & ~said & node_condition::kFuture) != 0 &&
                          names.contains(node.config.name);
    // Nodes that the state knew keep their conditions, but for FUTURE ones that the file now counts
    // as there.
    if (!has_come && (i < known || said == 0)) continue;
    NodeChanged change;
    change.node = index;
    change.set_conditions = said;
    if (has_come) change.clear_conditions = node_condition::kFuture;
    const auto after = changed_conditions(node.status.conditions,
                                          {change.set_conditions, change.clear_conditions});
    const std::string reason = found == first.end() ? "" : found->second.reason;
    // A reason goes only where nothing is left that has one.
    if (!reason.empty() || (after & node_condition::kReasoned) == 0) change.reason = reason;
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace muster

// Brings a configuration that was read anew into the order of the state's tables: jobs refer to
// nodes and partitions by their indices, which never change.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/event.h"
#include "state/cluster_state.h"

namespace muster {

/// Returns `config` with the state's nodes and partitions at their indices and new ones after them.
/// A node that the file no longer names stays in the table, out of every partition; such a
/// partition stays without nodes and INACTIVE.
std::shared_ptr<const ClusterConfig> aligned_config(const ClusterState& state,
                                                    std::shared_ptr<const ClusterConfig> config);

/// True for a node that the configuration in force does not name.
bool is_unnamed(const Node& node);

/// Returns how the conditions change of nodes that the file no longer names, or names again. They
/// are to be emitted once the configuration is applied. `named` is the configuration as it was
/// read.
std::vector<NodeChanged> changes_of_named_nodes(const ClusterState& state,
                                                const ClusterConfig& named);

/// Returns the conditions in which nodes begin that the state did not know before: those after the
/// first `known`, and those of `named` that were FUTURE and are so no more. They are to be emitted
/// once the configuration is applied. Source: slurm.conf(5), NodeName State.
std::vector<NodeChanged> changes_of_new_nodes(const ClusterState& state, std::size_t known,
                                              const ClusterConfig& named,
                                              const std::map<std::string, NodeStatus>& first);

}  // namespace muster

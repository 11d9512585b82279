// The columns of sinfo over groups of nodes, and how nodes are grouped. Source: sinfo(1).
#pragma once

#include <span>
#include <vector>

#include "cli/slurm/column_table.h"
#include "model/view.h"

namespace muster::cli {

/// Nodes of one partition (of several, where no column tells them apart) that look alike in every
/// column shown.
struct NodeGroup {
  const PartitionView* partition = nullptr;
  std::vector<const NodeView*> nodes;  ///< in configuration order, each once
};

std::span<const Column<NodeGroup>> sinfo_columns();

/// How nodes are grouped: within each partition. Sizes (CPUs, memory, ...) of one group may differ
/// and then show as "4+" unless `is_exact`; counts and node lists never tell groups apart;
/// `is_per_node` gives each node a row of its own.
struct Grouping {
  bool is_exact = false;
  bool is_per_node = false;
  bool keeps_empty = true;  ///< partitions without any node
};
std::vector<NodeGroup> group_nodes(std::span<const PartitionView> partitions,
                                   std::span<const NodeView> nodes, const Layout<NodeGroup>& layout,
                                   const Grouping& grouping, const ShowContext& context);

}  // namespace muster::cli

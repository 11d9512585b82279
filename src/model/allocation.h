// What a job was given: which CPUs, how much memory and which devices of each node.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bitmap.h"
#include "model/ids.h"

namespace muster {

/// Devices of one generic resource on one node. `devices` holds indices into the node's devices of
/// that name, counted over all its types in configuration order; a countable resource without
/// devices has indices too.
struct GresGrant {
  std::string name;
  std::string type;
  Bitmap devices;
  friend bool operator==(const GresGrant&, const GresGrant&) = default;
};

/// One node's part of an allocation. `cpus` holds CPU numbers of that node; memory in MiB.
struct NodeGrant {
  NodeIndex node;
  std::uint32_t task_count = 0;  ///< tasks that the plan counted on here
  Bitmap cpus;
  std::uint64_t memory_mib = 0;
  std::vector<GresGrant> gres;
  friend bool operator==(const NodeGrant&, const NodeGrant&) = default;
};

/// A job's resources, in the order of its node list (which is the order of NODEID). Immutable and
/// shared.
struct Allocation {
  std::vector<NodeGrant> nodes;
  std::uint32_t cpu_count() const {
    std::size_t total = 0;
    for (const NodeGrant& grant : nodes) total += grant.cpus.count();
    return static_cast<std::uint32_t>(total);
  }
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

using AllocationRef = std::shared_ptr<const Allocation>;

}  // namespace muster

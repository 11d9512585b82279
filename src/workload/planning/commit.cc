// The planner counts, commit chooses: numbers of CPUs and devices are no matter of planning, so
// that jobs of one need are alike to it. The lowest numbers first, for the same result in every
// replay.
#include "workload/planning/commit.h"

#include <algorithm>

namespace muster {
namespace {

/// CPUs of one core have neighbouring numbers. A core is free when all its CPUs are.
Bitmap free_cpus(const Node& node, bool is_whole_cores) {
  // Used CPUs are those that running jobs hold; a node under SelectTypeParameters=CR_Core gives
  // whole cores.
  Bitmap free = Bitmap::range(0, node.config.cpus);
  free -= node.used_cpus;
  const std::uint32_t unit = is_whole_cores ? std::max(1U, node.config.threads_per_core) : 1;
  if (unit == 1) return free;
  Bitmap whole;
  // CPUs beyond the last whole core, where the numbers do not divide, are given to nobody.
  for (std::uint32_t first = 0; first + unit <= node.config.cpus; first += unit) {
    const Bitmap core = Bitmap::range(first, unit);
    if (free.contains(core)) whole |= core;
  }
  return whole;
}

std::optional<GresGrant> choose_devices(const Node& node, const sched::GresKind& kind,
                                        std::uint32_t count) {
  Bitmap free = devices_of(node.config, kind.name, kind.type);
  if (const auto used = node.used_gres.find(kind.name); used != node.used_gres.end())
    free -= used->second;
  if (free.count() < count) return std::nullopt;
  return GresGrant{kind.name, kind.type, free.lowest(count)};
}

std::optional<NodeGrant> choose_on(const Node& node, const sched::NodeAmount& amount,
                                   bool is_whole_cores, const sched::ClusterSnapshot& snapshot) {
  // A node may have gone down or been drained since the plan was made.
  if (!node.can_accept_work()) return std::nullopt;
  const Bitmap free = free_cpus(node, is_whole_cores);
  if (free.count() < amount.cpus) return std::nullopt;
  const std::uint64_t left =
      // Never below zero: a node whose configuration shrank may hold more than it has now.
      node.config.memory_mib - std::min(node.config.memory_mib, node.used_memory_mib);
  if (amount.memory_mib > left) return std::nullopt;
  NodeGrant grant{amount.node, amount.task_count, free.lowest(amount.cpus), amount.memory_mib, {}};
  for (const sched::GresCount& part : amount.gres) {
    auto devices = choose_devices(node, snapshot.gres_kind(part.kind), part.count);
    if (!devices) return std::nullopt;
    grant.gres.push_back(std::move(*devices));
  }
  return grant;
}

}  // namespace

std::optional<AllocationRef> choose_resources(const ClusterState& state, const sched::Start& start,
                                              const sched::ClusterSnapshot& snapshot) {
  auto allocation = std::make_shared<Allocation>();
  for (const sched::NodeAmount& amount : start.nodes) {
    const Node* node = state.nodes().find(amount.node);
    if (node == nullptr) return std::nullopt;
    auto grant = choose_on(*node, amount, state.settings().is_core_consumable, snapshot);
    if (!grant) return std::nullopt;
    allocation->nodes.push_back(std::move(*grant));
  }
  return AllocationRef(std::move(allocation));
}

}  // namespace muster

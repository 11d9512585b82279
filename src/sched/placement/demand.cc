// Everything that depends on names is worked out here, once for a need and configuration: what
// comes after compares numbers. Inequalities over pools of devices are kept rather than a
// division, because which devices a node has left changes with each job.

#include "sched/placement/demand.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "base/check.h"

namespace muster::sched {
namespace {

NodeInventory inventory_of(const NodeConfig& node, const ClusterSettings& settings) {
  NodeInventory inventory;
  inventory.cpus = node.cpus;
  inventory.sockets = node.sockets;
  inventory.cores_per_socket = node.cores_per_socket;
  inventory.threads_per_core = std::max(node.threads_per_core, 1U);
  // A node may be configured with fewer CPUs than threads; then a CPU is the unit, as in Slurm.
  const bool has_threads = node.cpus % inventory.threads_per_core == 0 &&
                           node.cpus > inventory.sockets * node.cores_per_socket;
  inventory.core_unit = settings.is_core_consumable && has_threads ? inventory.threads_per_core : 1;
  inventory.tmp_disk_mib = node.tmp_disk_mib;
  inventory.weight = node.weight;
  inventory.memory_mib = node.memory_mib;
  return inventory;
}

GresKindId intern(std::vector<GresKind>& kinds, const GresPool& pool) {
  const GresKind kind{pool.name, pool.type};
  const auto found = std::ranges::find(kinds, kind);
  const auto index = static_cast<std::uint16_t>(found - kinds.begin());
  if (found == kinds.end()) kinds.push_back(kind);
  return GresKindId(index);
}

void fill_totals(ClusterInventory& inventory) {
  // Memory that is not handed out is never used up: only the node's size limits a request then.
  // A quarter of the largest number: amounts may be added to it and taken from it without
  // overflow.
  constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() / 4;
  // Quotas stand behind the real kinds, which intern() has all seen before: no index moves.
  std::size_t kind_count = inventory.kinds.size();
  for (const PartitionConfig& partition : inventory.config.partitions) {
    const bool is_limited = partition.max_cpus_per_node > 0;
    inventory.cpu_quotas.push_back(
        is_limited ? std::optional(GresKindId(static_cast<std::uint16_t>(kind_count++)))
                   : std::nullopt);
  }
  inventory.total = FreeTable(inventory.nodes.size(), kind_count);
  for (std::uint32_t i = 0; i < inventory.nodes.size(); ++i) {
    const NodeConfig& node = inventory.config.nodes[i];
    inventory.total.cpus(NodeIndex(i)) = static_cast<std::int32_t>(node.cpus);
    inventory.total.memory_mib(NodeIndex(i)) = inventory.config.settings.is_memory_consumable
                                                   ? static_cast<std::int64_t>(node.memory_mib)
                                                   : kUnlimited;
    for (const GresPool& pool : node.gres) {
      // A node may name one kind more than once: its counts add up.
      std::int32_t& total = inventory.total.gres(NodeIndex(i), intern(inventory.kinds, pool));
      constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
      total = static_cast<std::int32_t>(
          std::min<std::int64_t>(total + std::int64_t{pool.count}, kMost));
    }
    for (std::size_t p = 0; p < inventory.cpu_quotas.size(); ++p) {
      if (!inventory.cpu_quotas[p]) continue;
      const std::uint32_t limit = inventory.config.partitions[p].max_cpus_per_node;
      inventory.total.gres(NodeIndex(i), *inventory.cpu_quotas[p]) =
          static_cast<std::int32_t>(std::min<std::uint32_t>(limit, INT32_MAX));
    }
  }
}

bool has_features(const NodeConfig& node, const std::vector<std::string>& wanted) {
  return std::ranges::all_of(wanted, [&](const std::string& feature) {
    return std::ranges::find(node.features, feature) != node.features.end();
  });
}

bool meets(const FeatureConstraint& constraint, const NodeConfig& node) {
  const auto& alternatives = constraint.alternatives;
  return alternatives.empty() || std::ranges::any_of(alternatives, [&](const auto& all) {
           return has_features(node, all);
         });
}

bool matches(const ResourceRequest& request, const NodeConfig& node) {
  // Source: sbatch(1), --extra-node-info and --tmp: minima of what a node has.
  if (node.sockets < request.sockets_per_node) return false;
  if (node.cores_per_socket < request.cores_per_socket) return false;
  if (node.threads_per_core < request.threads_per_core) return false;
  if (node.tmp_disk_mib < request.tmp_disk_mib) return false;
  return meets(request.features, node);
}

NodeSet preferred_nodes(const Demand& demand, const ClusterInventory& inventory) {
  NodeSet preferred(inventory.node_count());
  demand.feasible_nodes.for_each([&](NodeIndex node) {
    if (meets(demand.request->preferred, inventory.config.nodes[node.value()])) preferred.set(node);
  });
  return preferred;
}

std::vector<GresNeed> resolve(const std::vector<GresAmount>& amounts,
                              const ClusterInventory& inventory) {
  std::vector<GresNeed> needs;
  for (const GresAmount& amount : amounts) {
    // "gpu:0" asks for nothing, and a kind that no node has would make it impossible.
    if (amount.count == 0) continue;
    needs.push_back(
        {inventory.matching_kinds(amount.name, amount.type), amount.count, amount.name == "gpu"});
  }
  return needs;
}

bool contains(const std::vector<GresKindId>& outer, const std::vector<GresKindId>& inner) {
  return std::ranges::includes(outer, inner);
}

/// Counts that add up beyond the largest number are that number, which no node has.
void add_count(std::uint32_t& sum, std::uint32_t count) {
  sum = static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{sum} + count, UINT32_MAX));
}

/// The inequality over `kinds`: everything that can only be met from them.
/// A need whose kinds are all among these cannot be met from elsewhere.
GresCheck check_over(const std::vector<GresKindId>& kinds, const Demand& demand) {
  GresCheck check{kinds, 0, 0, 0};
  for (const GresNeed& need : demand.per_node) {
    if (contains(kinds, need.kinds)) add_count(check.per_node, need.count);
  }
  for (const GresNeed& need : demand.per_task) {
    if (contains(kinds, need.kinds)) add_count(check.per_task, need.count);
  }
  for (std::size_t i = 0; i < demand.per_job.size(); ++i) {
    if (contains(kinds, demand.per_job[i].kinds)) check.job_needs |= 1U << i;
  }
  return check;
}

void add_checks(Demand& demand) {
  std::vector<std::vector<GresKindId>> groups;
  for (const auto* needs : {&demand.per_node, &demand.per_task, &demand.per_job}) {
    for (const GresNeed& need : *needs) {
      // A need that no kind matches: no node has it, and the empty inequality below fails
      // everywhere.
      if (need.kinds.empty()) demand.has_unknown_name = true;
      groups.push_back(need.kinds);
    }
  }
  std::ranges::sort(groups);
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  for (const auto& kinds : groups) demand.checks.push_back(check_over(kinds, demand));
}

/// --ntasks-per-gpu without a number of GPUs: as many as the tasks need.
void add_implied_gpus(Demand& demand, const ClusterInventory& inventory) {
  const ResourceRequest& request = *demand.request;
  const auto is_gpu = [](const GresNeed& need) { return need.is_gpu; };
  const bool has_gpus = std::ranges::any_of(demand.per_node, is_gpu) ||
                        std::ranges::any_of(demand.per_task, is_gpu) ||
                        std::ranges::any_of(demand.per_job, is_gpu);
  if (request.tasks_per_gpu == 0 || has_gpus) return;
  const std::uint64_t count =
      (std::uint64_t{request.task_count} + request.tasks_per_gpu - 1) / request.tasks_per_gpu;
  demand.per_job.push_back(
      {inventory.matching_kinds("gpu", ""), static_cast<std::uint32_t>(count), true});
}

// Names are looked up in sets: requests of old journals have theirs in another order than new ones.

void resolve_required(Demand& demand, const ClusterInventory& inventory) {
  demand.required = NodeSet(inventory.node_count());
  const auto& listed = demand.request->required_nodes;
  const std::unordered_set<std::string_view> names(listed.begin(), listed.end());
  for (std::uint32_t i = 0; i < inventory.node_count() && !names.empty(); ++i) {
    if (names.contains(inventory.config.nodes[i].name)) demand.required.set(NodeIndex(i));
  }
  demand.required_count = demand.required.count();
  // A name that no node has: the job can run nowhere.
  if (demand.required_count != names.size()) demand.has_unknown_name = true;
}

/// What a request can tell two nodes apart by, but for their names.
auto class_key(const ClusterInventory& inventory, NodeIndex index) {
  const NodeConfig& node = inventory.config.nodes[index.value()];
  const NodeFree free = inventory.total.at(index);
  return std::tuple(std::array{node.cpus, node.boards, node.sockets, node.cores_per_socket,
                               node.threads_per_core, node.tmp_disk_mib, node.weight},
                    node.memory_mib, node.features,
                    std::vector<std::int32_t>(free.gres, free.gres + inventory.total.kind_count()));
}

void sort_into_classes(ClusterInventory& inventory) {
  std::map<decltype(class_key(inventory, NodeIndex())), std::uint32_t> known;
  for (std::uint32_t i = 0; i < inventory.nodes.size(); ++i) {
    const auto [place, is_new] = known.try_emplace(
        class_key(inventory, NodeIndex(i)), static_cast<std::uint32_t>(inventory.classes.size()));
    if (is_new) inventory.classes.push_back(NodeIndex(i));
    inventory.class_of.push_back(place->second);
    inventory.by_weight.push_back(NodeIndex(i));
  }
  std::ranges::stable_sort(inventory.by_weight, {},
                           [&](NodeIndex node) { return inventory.nodes[node.value()].weight; });
}

}  // namespace

std::shared_ptr<const ClusterInventory> ClusterInventory::create(ClusterConfig config) {
  auto inventory = std::make_shared<ClusterInventory>();
  inventory->config = std::move(config);
  inventory->all = NodeSet(inventory->config.nodes.size());
  for (const NodeConfig& node : inventory->config.nodes) {
    inventory->all.set(NodeIndex(static_cast<std::uint32_t>(inventory->nodes.size())));
    inventory->nodes.push_back(inventory_of(node, inventory->config.settings));
    for (const GresPool& pool : node.gres) intern(inventory->kinds, pool);
  }
  for (const PartitionConfig& partition : inventory->config.partitions) {
    NodeSet nodes(inventory->nodes.size());
    for (const NodeIndex node : partition.nodes) {
      CHECK(node.value() < inventory->nodes.size(), "partition {} names node {}", partition.name,
            node.value());
      nodes.set(node);
    }
    inventory->partition_nodes.push_back(std::move(nodes));
  }
  fill_totals(*inventory);
  sort_into_classes(*inventory);
  return inventory;
}

std::vector<GresKindId> ClusterInventory::matching_kinds(const std::string& name,
                                                         const std::string& type) const {
  std::vector<GresKindId> result;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i].name == name && (type.empty() || kinds[i].type == type))
      result.push_back(GresKindId(static_cast<std::uint16_t>(i)));
  }
  return result;
}

std::optional<GresKindId> ClusterInventory::cpu_quota(PartitionIndex partition) const {
  return partition.value() < cpu_quotas.size() ? cpu_quotas[partition.value()] : std::nullopt;
}

NodeAmount ClusterInventory::charged(NodeAmount amount, PartitionIndex partition) const {
  std::erase_if(amount.gres,
                [this](const GresCount& part) { return part.kind.value() >= kinds.size(); });
  const std::optional<GresKindId> quota = cpu_quota(partition);
  if (!quota) return amount;
  // A whole node may have more CPUs than the quota: then the quota is used up.
  const std::uint32_t limit = config.partitions[partition.value()].max_cpus_per_node;
  amount.gres.push_back({*quota, std::min(amount.cpus, limit)});
  return amount;
}

NodeSet matching_nodes(const ResourceRequest& request, const ClusterInventory& inventory) {
  std::vector<bool> matching;
  // Nodes of one class match alike: only names, for exclusion, are looked at node by node.
  for (const NodeIndex like : inventory.classes)
    matching.push_back(matches(request, inventory.config.nodes[like.value()]));
  NodeSet result(inventory.node_count());
  const std::unordered_set<std::string_view> excluded(request.excluded_nodes.begin(),
                                                      request.excluded_nodes.end());
  for (std::uint32_t i = 0; i < inventory.node_count(); ++i) {
    if (!matching[inventory.class_of[i]]) continue;
    const bool is_excluded = !excluded.empty() && excluded.contains(inventory.config.nodes[i].name);
    result.put(NodeIndex(i), !is_excluded);
  }
  return result;
}

Demand Demand::compile(std::shared_ptr<const ResourceRequest> request,
                       const ClusterInventory& inventory) {
  Demand demand;
  demand.request = std::move(request);
  demand.per_node = resolve(demand.request->gres_per_node, inventory);
  demand.per_task = resolve(demand.request->gres_per_task, inventory);
  demand.per_job = resolve(demand.request->gres_per_job, inventory);
  add_implied_gpus(demand, inventory);
  if (demand.per_job.size() > kJobNeedMax) {
    demand.per_job.resize(kJobNeedMax);
    demand.has_unknown_name = true;
  }
  add_checks(demand);
  resolve_required(demand, inventory);
  demand.feasible_nodes = matching_nodes(*demand.request, inventory);
  if (!demand.request->preferred.alternatives.empty())
    demand.preferred = preferred_nodes(demand, inventory);
  return demand;
}

}  // namespace muster::sched

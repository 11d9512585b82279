#include "state/resource_need.h"

#include <algorithm>

#include "base/saturating.h"
#include "slurm/gres_options.h"
#include "slurm/rank_layout.h"

namespace muster {
namespace {

struct MemoryDefault {
  std::uint64_t per_node;
  std::uint64_t per_cpu;
  std::uint64_t per_gpu;
  bool is_set() const { return per_node != 0 || per_cpu != 0 || per_gpu != 0; }
};

MemoryTerms terms_of(const ResourceRequest& need) {
  return {need.cpus_per_task, need.min_cpus_per_node, need.memory_scope, need.memory_mib};
}

void set_terms(ResourceRequest& need, const MemoryTerms& terms) {
  need.cpus_per_task = terms.cpus_per_task;
  need.min_cpus_per_node = terms.min_cpus_per_node;
  need.memory_scope = terms.memory_scope;
  need.memory_mib = terms.memory_mib;
}

/// As the user gave them.
MemoryTerms asked_terms(const JobSpec& spec) {
  return spec.asked.cpus_per_task != 0 ? spec.asked : terms_of(*spec.request);
}

/// Where the job names no memory.
void fill_memory(MemoryTerms& terms, const MemoryDefault& fallback, bool is_with_gpu) {
  // DefMemPerGPU counts for jobs that ask for GPUs, before the others. Source: slurm.conf(5).
  if (fallback.per_gpu != 0 && is_with_gpu) {
    terms.memory_scope = MemoryScope::kPerGpu;
    terms.memory_mib = fallback.per_gpu;
  } else if (fallback.per_cpu != 0) {
    terms.memory_scope = MemoryScope::kPerCpu;
    terms.memory_mib = fallback.per_cpu;
  } else if (fallback.per_node != 0) {
    terms.memory_scope = MemoryScope::kPerNode;
    terms.memory_mib = fallback.per_node;
  }
}

std::uint32_t counted(std::uint64_t cpus) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(cpus, kCountMax));
}

/// Source: slurm.conf(5), MaxMemPerCPU: who asks for more for each CPU gets more CPUs with less
/// memory each.
void spread_memory(MemoryTerms& terms, std::uint64_t per_cpu) {
  const std::uint64_t factor =
      terms.memory_mib / per_cpu + (terms.memory_mib % per_cpu != 0 ? 1 : 0);
  if (terms.memory_scope == MemoryScope::kPerCpu && factor > 1) {
    terms.cpus_per_task =
        counted(saturating_product(std::uint64_t{std::max(1U, terms.cpus_per_task)}, factor));
    // Rounded up: never less than was asked for.
    terms.memory_mib = (terms.memory_mib + factor - 1) / factor;
  } else if (terms.memory_scope == MemoryScope::kPerNode) {
    // As many CPUs as the memory of a node pays for.
    terms.min_cpus_per_node = std::max(terms.min_cpus_per_node, counted(factor));
  }
}

/// What the rules of the partition, or else of the cluster, make of what was asked for.
MemoryTerms terms_in(const JobSpec& spec, const PartitionConfig& partition,
                     const ClusterSettings& settings) {
  MemoryTerms terms = asked_terms(spec);
  // Where nobody counts memory a job has none by default.
  if (terms.memory_scope == MemoryScope::kDefault && settings.is_memory_consumable) {
    const MemoryDefault of_partition{partition.default_memory_per_node_mib,
                                     partition.default_memory_per_cpu_mib,
                                     partition.default_memory_per_gpu_mib};
    const MemoryDefault of_cluster{settings.default_memory_per_node_mib,
                                   settings.default_memory_per_cpu_mib,
                                   settings.default_memory_per_gpu_mib};
    // A partition with any default of its own does not inherit the cluster's others.
    fill_memory(terms, of_partition.is_set() ? of_partition : of_cluster, wants_gpu(*spec.request));
  }
  // 0: the partition sets none.
  const std::uint64_t per_cpu = partition.max_memory_per_cpu_mib != 0
                                    ? partition.max_memory_per_cpu_mib
                                    : settings.max_memory_per_cpu_mib;
  if (per_cpu != 0) spread_memory(terms, per_cpu);
  return terms;
}

}  // namespace

bool wants_gpu(const ResourceRequest& need) {
  const auto is_gpu = [](const GresAmount& amount) {
    return amount.name == "gpu" && amount.count > 0;
  };
  return std::ranges::any_of(need.gres_per_node, is_gpu) ||
         std::ranges::any_of(need.gres_per_job, is_gpu) ||
         std::ranges::any_of(need.gres_per_task, is_gpu);
}

Result<ResourceRequest> resource_need(const JobSpec& spec, const PartitionConfig& partition,
                                      const ClusterSettings& settings) {
  // A copy: the job's own request stays as it is.
  ResourceRequest need = *spec.request;
  set_terms(need, terms_in(spec, partition, settings));
  need.is_tasks_per_node_exact = follows_nodes(spec);
  // A run is one step of all its tasks, which MaxTasksPerNode bounds on each node.
  const bool is_bounded =
      spec.kind == JobKind::kRun && need.task_count > settings.max_tasks_per_node;
  if (is_bounded &&
      (need.tasks_per_node == 0 || need.tasks_per_node > settings.max_tasks_per_node)) {
    need.tasks_per_node = settings.max_tasks_per_node;
  }
  // A task takes one node at most: a range of nodes ends there.
  const bool is_range =
      need.max_nodes > need.min_nodes && (spec.given & given_option::kTaskCount) != 0;
  if (is_range)
    need.max_nodes = std::max(need.min_nodes, std::min(need.max_nodes, need.task_count));
  // --ntasks-per-node sets CPUs aside for so many on each node, also where fewer tasks come to lie.
  // Source: sbatch(1).
  const std::uint32_t asked_per_node = spec.request->tasks_per_node;
  if (asked_per_node > 1 && need.task_count >= asked_per_node && !need.is_overcommit) {
    need.min_cpus_per_node =
        std::max(need.min_cpus_per_node, asked_per_node * std::max(1U, need.cpus_per_task));
  }
  // Source: slurm.conf(5), DefCpuPerGPU of a partition.
  if (need.cpus_per_gpu == 0) need.cpus_per_gpu = partition.default_cpus_per_gpu;
  need.is_exclusive = spec.sharing == Sharing::kExclusive || partition.is_exclusive;
  TRY(combine_gres(need));
  // Each required node takes part.
  need.min_nodes = std::max(need.min_nodes, static_cast<std::uint32_t>(need.required_nodes.size()));
  // SelectTypeParameters without memory: nobody counts it.
  if (!settings.is_memory_consumable)
    need.memory_scope = MemoryScope::kDefault, need.memory_mib = 0;
  return need;
}

bool has_memory_rules_of(const JobSpec& spec, const PartitionConfig& partition,
                         const ClusterSettings& settings) {
  return terms_of(*spec.request) == terms_in(spec, partition, settings);
}

void apply_memory_rules(JobSpec& spec, const PartitionConfig& partition,
                        const ClusterSettings& settings) {
  const MemoryTerms terms = terms_in(spec, partition, settings);
  drop_memory_rules(spec);
  const MemoryTerms asked = terms_of(*spec.request);
  if (terms == asked) return;
  set_terms(*spec.request.edit(), terms);
  spec.asked = asked;
  // Zero is what says that nothing is kept.
  spec.asked.cpus_per_task = std::max(1U, asked.cpus_per_task);
}

void drop_memory_rules(JobSpec& spec) {
  if (spec.asked.cpus_per_task != 0) set_terms(*spec.request.edit(), spec.asked);
  spec.asked = MemoryTerms();
}

}  // namespace muster

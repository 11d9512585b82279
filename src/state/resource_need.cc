#include "state/resource_need.h"

#include <algorithm>

#include "slurm/feature_text.h"
#include "slurm/gres_options.h"
#include "slurm/gres_text.h"
#include "slurm/hostlist.h"
#include "slurm/rank_layout.h"

namespace muster {
namespace {

struct MemoryDefault {
  std::uint64_t per_node;
  std::uint64_t per_cpu;
  std::uint64_t per_gpu;
  bool is_set() const { return per_node != 0 || per_cpu != 0 || per_gpu != 0; }
};

void fill_memory(ResourceRequest& need, const MemoryDefault& fallback) {
  if (fallback.per_gpu != 0 && wants_gpu(need)) {
    need.memory_scope = MemoryScope::kPerGpu;
    need.memory_mib = fallback.per_gpu;
  } else if (fallback.per_cpu != 0) {
    need.memory_scope = MemoryScope::kPerCpu;
    need.memory_mib = fallback.per_cpu;
  } else if (fallback.per_node != 0) {
    need.memory_scope = MemoryScope::kPerNode;
    need.memory_mib = fallback.per_node;
  }
}

Result<std::vector<std::string>> sorted_nodes(std::string_view text) {
  if (text.empty()) return std::vector<std::string>{};
  auto names = expand_hostlist(text);
  if (!names.has_value()) {
    return fail(ErrorCode::kInvalidArgument, "Invalid node name specified", names.error().text());
  }
  return sorted_hosts(std::move(names).value());
}

Result<std::vector<GresAmount>> gres_of(const JobSpec& spec, JobText key) {
  const std::string_view text = spec.get(key);
  if (text.empty()) return std::vector<GresAmount>{};
  return parse_gres(text);
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
  ResourceRequest need;
  need.min_nodes = spec.min_nodes;
  need.max_nodes = spec.max_nodes;
  need.task_count = spec.task_count;
  need.tasks_per_node = spec.tasks_per_node;
  need.is_tasks_per_node_exact = follows_nodes(spec);
  // A run is one step of all its tasks, which MaxTasksPerNode bounds on each node.
  const bool is_bounded =
      spec.kind == JobKind::kRun && spec.task_count > settings.max_tasks_per_node;
  if (is_bounded &&
      (need.tasks_per_node == 0 || need.tasks_per_node > settings.max_tasks_per_node)) {
    need.tasks_per_node = settings.max_tasks_per_node;
  }
  // A task takes one node at most: a range of nodes ends there.
  const bool is_range =
      need.max_nodes > need.min_nodes && (spec.given & given_option::kTaskCount) != 0;
  if (is_range)
    need.max_nodes = std::max(need.min_nodes, std::min(need.max_nodes, need.task_count));
  need.cpus_per_task = spec.cpus_per_task;
  need.min_cpus_per_node = spec.min_cpus_per_node;
  // --ntasks-per-node sets CPUs aside for so many on each node, also where fewer tasks come to lie.
  // Source: sbatch(1).
  if (spec.tasks_per_node > 1 && spec.task_count >= spec.tasks_per_node && !spec.is_overcommit) {
    need.min_cpus_per_node =
        std::max(need.min_cpus_per_node, spec.tasks_per_node * std::max(1U, spec.cpus_per_task));
  }
  need.cpus_per_gpu = spec.cpus_per_gpu != 0 ? spec.cpus_per_gpu : partition.default_cpus_per_gpu;
  need.tasks_per_gpu = spec.tasks_per_gpu;
  need.sockets_per_node = spec.sockets_per_node;
  need.cores_per_socket = spec.cores_per_socket;
  need.threads_per_core = spec.threads_per_core;
  need.tmp_disk_mib = spec.tmp_disk_mib;
  need.memory_scope = spec.memory_scope;
  need.memory_mib = spec.memory_mib;
  need.is_exclusive = spec.sharing == Sharing::kExclusive || partition.is_exclusive;
  need.is_contiguous = spec.is_contiguous;
  need.is_fewest_nodes = spec.is_fewest_nodes;
  need.is_overcommit = spec.is_overcommit;
  need.gres_per_node = TRY(gres_of(spec, JobText::kGresPerNode));
  need.gres_per_job = TRY(gres_of(spec, JobText::kGresPerJob));
  need.gres_per_task = TRY(gres_of(spec, JobText::kGresPerTask));
  TRY(combine_gres(need));
  if (!spec.get(JobText::kFeatures).empty())
    need.features = TRY(parse_features(spec.get(JobText::kFeatures)));
  if (!spec.get(JobText::kPrefer).empty())
    need.preferred = TRY(parse_features(spec.get(JobText::kPrefer)));
  need.required_nodes = TRY(sorted_nodes(spec.get(JobText::kNodeList)));
  // Each required node takes part.
  need.min_nodes = std::max(need.min_nodes, static_cast<std::uint32_t>(need.required_nodes.size()));
  need.excluded_nodes = TRY(sorted_nodes(spec.get(JobText::kExcludeList)));
  if (need.memory_scope == MemoryScope::kDefault) {
    const MemoryDefault of_partition{partition.default_memory_per_node_mib,
                                     partition.default_memory_per_cpu_mib,
                                     partition.default_memory_per_gpu_mib};
    const MemoryDefault of_cluster{settings.default_memory_per_node_mib,
                                   settings.default_memory_per_cpu_mib,
                                   settings.default_memory_per_gpu_mib};
    fill_memory(need, of_partition.is_set() ? of_partition : of_cluster);
  }
  if (!settings.is_memory_consumable)
    need.memory_scope = MemoryScope::kDefault, need.memory_mib = 0;
  return need;
}

}  // namespace muster

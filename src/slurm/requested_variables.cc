// Variables of what was asked for, as sbatch(1) lists them under OUTPUT ENVIRONMENT VARIABLES:
// only what was named has one, but for memory, which steps inherit in any case.

#include "slurm/requested_variables.h"

#include <fmt/format.h>

#include "slurm/gres_text.h"
#include "slurm/rank_layout.h"

namespace muster {
namespace {

std::vector<GresAmount> gpus_in(std::string_view gres) {
  // Other resources have no variables.
  auto amounts = parse_gres(gres).value_or(std::vector<GresAmount>{});
  std::erase_if(amounts, [](const GresAmount& amount) { return amount.name != "gpu"; });
  return amounts;
}

/// "2", "h100:2": as --gpus reads it.
std::string short_text(std::string_view gres) {
  std::string text;
  for (const GresAmount& amount : gpus_in(gres)) {
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ",", amount.type,
                        amount.type.empty() ? "" : ":", amount.count);
  }
  return text;
}

}  // namespace

void set_memory_variable(Environment& environment, MemoryScope scope, std::uint64_t memory_mib) {
  // Nothing was asked for, or all of a node: neither is an amount.
  if (scope == MemoryScope::kDefault || memory_mib == 0) return;
  // Of the three only one may stand: a step with two would have two limits.
  for (const char* name : {"SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU", "SLURM_MEM_PER_NODE"})
    unset_variable(environment, name);
  const char* name = scope == MemoryScope::kPerCpu   ? "SLURM_MEM_PER_CPU"
                     : scope == MemoryScope::kPerGpu ? "SLURM_MEM_PER_GPU"
                                                     : "SLURM_MEM_PER_NODE";
  set_variable(environment, name, fmt::format("{}", memory_mib));
}

std::string tres_per_task_text(std::uint32_t cpus, std::string_view gres) {
  std::string text = cpus == 0 ? "" : fmt::format("cpu={}", cpus);
  // Slurm's form: the name, its type and the count.
  for (const GresAmount& amount : parse_gres(gres).value_or(std::vector<GresAmount>{})) {
    text += fmt::format("{}gres/{}{}{}={}", text.empty() ? "" : ",", amount.name,
                        amount.type.empty() ? "" : ":", amount.type, amount.count);
  }
  return text;
}

void set_distribution(Environment& environment, std::string_view distribution) {
  if (distribution.empty()) return;
  const auto rule = parse_distribution(distribution);
  // A plane has its size in a variable of its own.
  if (rule.has_value() && rule->kind == Distribution::kPlane) {
    set_variable(environment, "SLURM_DISTRIBUTION", "plane");
    set_variable(environment, "SLURM_DIST_PLANESIZE", fmt::format("{}", rule->plane_size));
    return;
  }
  set_variable(environment, "SLURM_DISTRIBUTION", distribution);
  // A job of another distribution must not leave the size of an older one.
  unset_variable(environment, "SLURM_DIST_PLANESIZE");
}

void add_requested_variables(Environment& environment, const JobSpec& job) {
  using namespace given_option;
  const auto is_given = [&](std::uint32_t bits) { return (job.given & bits) != 0; };
  // Only where it was given: everything else is the cluster's.
  const auto text_if = [&](std::uint32_t bits, const char* name, std::string_view value) {
    if (is_given(bits) && !value.empty()) set_variable(environment, name, value);
  };
  const auto number_if = [&](std::uint32_t bits, const char* name, std::uint64_t value) {
    if (is_given(bits)) set_variable(environment, name, fmt::format("{}", value));
  };
  // Each of these gives a number of tasks.
  constexpr std::uint32_t kTasks =
      kTaskCount | kTasksPerNode | kTasksPerGpu | kTasksPerCore | kTasksPerSocket;
  number_if(kTasks, "SLURM_NTASKS", job.request->task_count);
  number_if(kTasks, "SLURM_NPROCS", job.request->task_count);
  number_if(kTasksPerNode, "SLURM_NTASKS_PER_NODE", job.request->tasks_per_node);
  number_if(kTasksPerCore, "SLURM_NTASKS_PER_CORE", job.tasks_per_core);
  number_if(kTasksPerSocket, "SLURM_NTASKS_PER_SOCKET", job.tasks_per_socket);
  number_if(kTasksPerGpu, "SLURM_NTASKS_PER_GPU", job.request->tasks_per_gpu);
  number_if(kCpusPerTask, "SLURM_CPUS_PER_TASK", job.request->cpus_per_task);
  number_if(kCpusPerGpu, "SLURM_CPUS_PER_GPU", job.request->cpus_per_gpu);
  number_if(kThreadsPerCore, "SLURM_THREADS_PER_CORE", job.request->threads_per_core);
  text_if(kGpus, "SLURM_GPUS", short_text(job.get(JobText::kGresPerJob)));
  text_if(kGpusPerNode, "SLURM_GPUS_PER_NODE", short_text(job.get(JobText::kGresPerNode)));
  text_if(kGpusPerTask, "SLURM_GPUS_PER_TASK", short_text(job.get(JobText::kGresPerTask)));
  text_if(kCpusPerTask | kGpusPerTask, "SLURM_TRES_PER_TASK",
          tres_per_task_text(is_given(kCpusPerTask) ? job.request->cpus_per_task : 0,
                             job.get(JobText::kGresPerTask)));
  // What counts, also when it is the cluster's default: steps inherit it.
  set_memory_variable(environment, job.request->memory_scope, job.request->memory_mib);
  // Append or truncate, as the files of the step are opened.
  if (job.open_mode != 0)
    set_variable(environment, "SLURM_OPEN_MODE", job.open_mode == 2 ? "a" : "t");
  if (is_given(kDistribution)) set_distribution(environment, job.get(JobText::kDistribution));
  if (job.request->is_overcommit) set_variable(environment, "SLURM_OVERCOMMIT", "1");
}

}  // namespace muster

// CPUs are the step's numbers on the node (task_launcher.cc maps them to real ones). Which task
// gets which is the rule of srun(1), --cpu-bind and --gpu-bind: units (threads, cores, sockets) are
// dealt out in turn, wrapping around where they do not suffice.
#include "stepd/task_binding.h"

#include <fmt/format.h>

#include <algorithm>

#include "slurm/gres_text.h"

namespace muster {
namespace {

/// The parts of `cpus` that lie in one core or socket of `size` CPUs, in rising order.
std::vector<Bitmap> units_in(const Bitmap& cpus, std::size_t size) {
  std::vector<Bitmap> units;
  std::size_t last = 0;
  cpus.for_each([&](std::size_t cpu) {
    // Unit numbers from 1, so that 0 is none yet.
    const std::size_t unit = cpu / size + 1;
    if (unit != last) units.emplace_back();
    last = unit;
    units.back().set(cpu);
  });
  return units;
}

/// `each` units for the task, beginning again at the first when they run out.
Bitmap in_turn(const std::vector<Bitmap>& units, std::size_t local_id, std::size_t each) {
  Bitmap share;
  for (std::size_t i = 0; i < each && i < units.size(); ++i)
    share |= units[(local_id * each + i) % units.size()];
  return share;
}

/// All units that have a CPU of the share.
Bitmap widened(const Bitmap& share, const std::vector<Bitmap>& units) {
  Bitmap wide;
  for (const Bitmap& unit : units) {
    if (unit.intersects(share)) wide |= unit;
  }
  return wide;
}

/// What one node's tasks divide among themselves.
struct CpuShares {
  const Bitmap& all;
  std::size_t task_count;
  std::size_t each;
  const NodeShape& shape;

  Bitmap by_thread(std::size_t local_id) const { return in_turn(units_in(all, 1), local_id, each); }
  Bitmap by_core(std::size_t local_id) const {
    const std::size_t threads = std::max(1U, shape.threads_per_core);
    const auto cores = units_in(all, threads);
    // Rounded up: a task gets whole cores.
    const std::size_t cores_each = (each + threads - 1) / threads;
    if (cores.size() >= cores_each * task_count) return in_turn(cores, local_id, cores_each);
    // Too few cores for all: each gets its threads, and the cores that those are in.
    return widened(by_thread(local_id), cores);
  }
  Bitmap by_socket(std::size_t local_id) const {
    const std::size_t size =
        std::size_t{std::max(1U, shape.threads_per_core)} * std::max(1U, shape.cores_per_socket);
    return widened(by_thread(local_id), units_in(all, size));
  }
};

Bitmap cpus_of_task(const LaunchStep& launch, const CpuBind& bind, const CpuShares& shares,
                    std::size_t local_id) {
  // --exact, and enough CPUs: each task has its own. Else all share the step's.
  const bool has_own = launch.step->is_exact && !launch.step->is_overcommit &&
                       shares.all.count() >= shares.each * shares.task_count;
  switch (bind.kind) {
    case CpuBindKind::kDefault: return has_own ? shares.by_thread(local_id) : shares.all;
    case CpuBindKind::kNone: return {};
    case CpuBindKind::kRank:
    case CpuBindKind::kThreads: return shares.by_thread(local_id);
    case CpuBindKind::kCores: return shares.by_core(local_id);
    case CpuBindKind::kSockets: return shares.by_socket(local_id);
    // The list is gone through again from its beginning. Source: srun(1), map_cpu and mask_cpu.
    case CpuBindKind::kList: return bind.masks[local_id % bind.masks.size()];
  }
  return shares.all;
}

/// --gpus-per-task is a binding too, where no other is asked for.
GpuBind gpu_bind_of(const StepSpec& step, GpuBind bind) {
  if (bind.kind != GpuBindKind::kDefault || step.get(StepText::kGresPerTask).empty()) return bind;
  const auto per_task = parse_gres(step.get(StepText::kGresPerTask));
  for (const GresAmount& amount : per_task.value_or(std::vector<GresAmount>{}))
    bind.count += amount.name == "gpu" ? amount.count : 0;
  if (bind.count > 0) bind.kind = GpuBindKind::kPerTask;
  return bind;
}

Bitmap gpus_of_task(const GpuBind& bind, const Bitmap& all, std::size_t local_id) {
  const auto units = units_in(all, 1);
  if (units.empty()) return {};
  switch (bind.kind) {
    case GpuBindKind::kDefault:
    case GpuBindKind::kNone:
    case GpuBindKind::kClosest:
      return all;  // the configuration does not say which CPUs a GPU is close to
    // `count` tasks share one GPU.
    case GpuBindKind::kSingle: return in_turn(units, local_id / bind.count, 1);
    case GpuBindKind::kPerTask: return in_turn(units, local_id, bind.count);
    case GpuBindKind::kList: break;
  }
  Bitmap named = bind.masks[local_id % bind.masks.size()];
  named &= all;
  // A mask that names none of the step's GPUs: the first one, since a task asked for one.
  return named.empty() ? units.front() : named;
}

std::string_view bind_word(CpuBindKind kind) {
  return kind == CpuBindKind::kNone ? "NONE" : kind == CpuBindKind::kRank ? "RANK" : "MASK";
}

}  // namespace

Result<TaskBinding> bind_tasks(const LaunchStep& launch, std::uint32_t task_count,
                               const NodeShape& shape) {
  TaskBinding binding;
  // The batch script is bound to nothing but the job's CPUs on its node.
  if (launch.step == nullptr) {
    binding.cpus.assign(task_count, launch.job_grant.cpus);
    binding.gpus.assign(task_count, gpus_of(launch.job_grant));
    return binding;
  }
  const StepSpec& step = *launch.step;
  binding.cpu_bind = TRY(parse_cpu_bind(step.get(StepText::kCpuBind)));
  GpuBind gpu_bind = TRY(parse_gpu_bind(step.get(StepText::kGpuBind)));
  binding.gpu_bind = gpu_bind_of(step, std::move(gpu_bind));
  const Bitmap& all = launch.step_grant.cpus;
  const CpuShares shares{all, task_count, std::max(1U, step.cpus_per_task), shape};
  const Bitmap gpus = gpus_of(launch.step_grant);
  for (std::uint32_t local = 0; local < task_count; ++local) {
    binding.cpus.push_back(cpus_of_task(launch, binding.cpu_bind, shares, local));
    binding.gpus.push_back(gpus_of_task(binding.gpu_bind, gpus, local));
    // In Slurm's words.
    if (binding.cpu_bind.kind == CpuBindKind::kList && !all.contains(binding.cpus.back())) {
      return fail(ErrorCode::kInvalidArgument, "Unable to satisfy cpu bind request",
                  fmt::format("CPU binding outside of job step allocation, allocated CPUs are: {}",
                              mask_text(all)));
    }
  }
  return binding;
}

Bitmap gpus_of(const NodeGrant& grant) {
  Bitmap gpus;
  for (const GresGrant& gres : grant.gres) {
    if (gres.name == "gpu") gpus |= gres.devices;
  }
  return gpus;
}

std::string mask_text(const Bitmap& mask) {
  const auto& words = mask.words();
  if (words.empty()) return "0x0";
  std::string text = fmt::format("0x{:X}", words.back());
  // Words from the highest: 16 digits each, without leading zeros in the first alone.
  for (std::size_t i = words.size() - 1; i-- > 0;) text += fmt::format("{:016X}", words[i]);
  return text;
}

std::string index_text(const Bitmap& indices) {
  std::string text;
  indices.for_each(
      [&](std::size_t index) { text += (text.empty() ? "" : ",") + std::to_string(index); });
  return text;
}

std::string binding_notice(const TaskBinding& binding, const LaunchStep& launch,
                           std::uint32_t local_id, std::uint32_t rank, std::int64_t process_id) {
  std::string text;
  if (binding.cpu_bind.is_verbose) {
    const Bitmap& cpus =
        binding.cpus[local_id].empty() ? launch.step_grant.cpus : binding.cpus[local_id];
    // In the form of slurmstepd's report, which users compare.
    text += fmt::format("cpu-bind={} - {}, task {:2} {:2} [{}]: mask {} set\n",
                        bind_word(binding.cpu_bind.kind), launch.node_name, rank, local_id,
                        process_id, mask_text(cpus));
  }
  if (binding.gpu_bind.is_verbose) {
    const Bitmap all = gpus_of(launch.step_grant);
    const Bitmap& own = binding.gpus[local_id];
    text += fmt::format(
        "gpu-bind: usable_gres={}; bit_alloc={}; local_inx={}; global_list={}; local_list={}\n",
        mask_text(own), mask_text(all), all.count(), index_text(own), index_text(own));
  }
  return text;
}

}  // namespace muster

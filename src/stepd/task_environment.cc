#include "stepd/task_environment.h"

#include <fmt/format.h>

#include <algorithm>

#include "codec/gres_text.h"

namespace muster {
namespace {

/// Sets variables in order; a variable whose value is empty is left out.
class Writer {
 public:
  explicit Writer(Environment& environment) : environment_(environment) {}
  void text(std::string_view name, std::string_view value) {
    if (!value.empty()) set_variable(environment_, name, value);
  }
  template <class Number>
  void number(std::string_view name, Number value) {
    set_variable(environment_, name, std::to_string(value));
  }

 private:
  Environment& environment_;
};

bool is_given(const JobSpec& spec, std::uint32_t option) { return (spec.given & option) != 0; }

std::string devices_text(const NodeGrant& grant, std::string_view name) {
  std::string text;
  for (const GresGrant& gres : grant.gres) {
    if (gres.name != name) continue;
    gres.devices.for_each([&](std::size_t index) { text += (text.empty() ? "" : ",") + std::to_string(index); });
  }
  return text;
}

std::size_t device_count(const NodeGrant& grant, std::string_view name) {
  std::size_t count = 0;
  for (const GresGrant& gres : grant.gres) count += gres.name == name ? gres.devices.count() : 0;
  return count;
}

std::string cpu_mask_text(const Bitmap& cpus) {
  const auto& words = cpus.words();
  if (words.empty()) return "0x0";
  std::string text = fmt::format("0x{:X}", words.back());
  for (std::size_t i = words.size() - 1; i-- > 0;) text += fmt::format("{:016X}", words[i]);
  return text;
}

void add_identity(Writer& out, const LaunchStep& launch) {
  const JobSpec& job = *launch.job;
  out.number("SLURM_JOB_ID", launch.id.job.value());
  out.number("SLURM_JOBID", launch.id.job.value());
  out.text("SLURM_JOB_NAME", job.name());
  out.text("SLURM_CLUSTER_NAME", launch.cluster_name);
  out.text("SLURM_JOB_PARTITION", launch.partition);
  out.text("SLURM_JOB_ACCOUNT", job.get(JobText::kAccount));
  out.text("SLURM_JOB_QOS", job.get(JobText::kQos).empty() ? "normal" : job.get(JobText::kQos));
  out.text("SLURM_JOB_RESERVATION", job.get(JobText::kReservation));
  out.text("SLURM_JOB_LICENSES", job.get(JobText::kLicenses));
  out.text("SLURM_JOB_DEPENDENCY", job.get(JobText::kDependency));
  out.text("SLURM_JOB_COMMENT", job.get(JobText::kComment));
  out.number("SLURM_JOB_UID", job.user.value());
  out.number("SLURM_JOB_GID", job.group.value());
  out.text("SLURM_JOB_USER", job.get(JobText::kUserName));
  out.text("SLURM_JOB_GROUP", job.get(JobText::kGroupName));
  out.number("SLURM_JOB_START_TIME", launch.start_time.seconds());
  if (!launch.end_time.is_never()) out.number("SLURM_JOB_END_TIME", launch.end_time.seconds());
  out.text("SLURM_SUBMIT_DIR", job.get(JobText::kWorkDir));
  out.text("SLURM_SUBMIT_HOST", job.get(JobText::kSubmitHost));
  out.number("SLURM_RESTART_COUNT", launch.restart_count);
}

void add_allocation(Writer& out, const LaunchStep& launch) {
  out.text("SLURM_JOB_NODELIST", launch.job_node_list);
  out.text("SLURM_NODELIST", launch.job_node_list);
  out.number("SLURM_JOB_NUM_NODES", launch.job_cpus.size());
  out.number("SLURM_NNODES", launch.job_cpus.size());
  out.text("SLURM_JOB_CPUS_PER_NODE", counts_text(launch.job_cpus));
  out.text("SLURM_TASKS_PER_NODE", counts_text(launch.job_tasks));
  out.text("SLURMD_NODENAME", launch.node_name);
  out.number("SLURM_CPUS_ON_NODE", launch.job_grant.cpus.count());
  const std::size_t gpus = device_count(launch.job_grant, "gpu");
  if (gpus > 0) out.number("SLURM_GPUS_ON_NODE", gpus);
  if (launch.step == nullptr) out.text("SLURM_JOB_GPUS", devices_text(launch.job_grant, "gpu"));
  if (launch.job->sharing == Sharing::kExclusive) out.number("SLURM_JOB_EXCLUSIVE", 1);
}

/// Only what was asked for: programs take these for the user's word.
void add_requested(Writer& out, const LaunchStep& launch) {
  const JobSpec& job = *launch.job;
  const bool has_tasks = is_given(job, given_option::kTaskCount | given_option::kTasksPerNode |
                                           given_option::kTasksPerGpu | given_option::kTasksPerCore |
                                           given_option::kTasksPerSocket);
  if (has_tasks) {
    out.number("SLURM_NTASKS", job.task_count);
    out.number("SLURM_NPROCS", job.task_count);
  }
  if (is_given(job, given_option::kTasksPerNode)) out.number("SLURM_NTASKS_PER_NODE", job.tasks_per_node);
  if (is_given(job, given_option::kTasksPerCore)) out.number("SLURM_NTASKS_PER_CORE", job.tasks_per_core);
  if (is_given(job, given_option::kTasksPerSocket)) out.number("SLURM_NTASKS_PER_SOCKET", job.tasks_per_socket);
  if (is_given(job, given_option::kTasksPerGpu)) out.number("SLURM_NTASKS_PER_GPU", job.tasks_per_gpu);
  if (is_given(job, given_option::kCpusPerTask)) out.number("SLURM_CPUS_PER_TASK", job.cpus_per_task);
  if (is_given(job, given_option::kCpusPerGpu)) out.number("SLURM_CPUS_PER_GPU", job.cpus_per_gpu);
  if (is_given(job, given_option::kThreadsPerCore)) out.number("SLURM_THREADS_PER_CORE", job.threads_per_core);
  const auto without_name = [](std::string_view gres) {
    return gres.substr(0, 4) == "gpu:" ? std::string(gres.substr(4)) : std::string(gres);
  };
  if (is_given(job, given_option::kGpus)) out.text("SLURM_GPUS", without_name(job.get(JobText::kGresPerJob)));
  if (is_given(job, given_option::kGpusPerNode)) out.text("SLURM_GPUS_PER_NODE", without_name(job.get(JobText::kGresPerNode)));
  if (is_given(job, given_option::kGpusPerTask)) out.text("SLURM_GPUS_PER_TASK", without_name(job.get(JobText::kGresPerTask)));
  if (is_given(job, given_option::kMemory)) {
    const char* name = job.memory_scope == MemoryScope::kPerCpu   ? "SLURM_MEM_PER_CPU"
                       : job.memory_scope == MemoryScope::kPerGpu ? "SLURM_MEM_PER_GPU" : "SLURM_MEM_PER_NODE";
    out.number(name, job.memory_mib);
  }
  if (is_given(job, given_option::kDistribution)) out.text("SLURM_DISTRIBUTION", job.get(JobText::kDistribution));
  if (job.is_overcommit) out.number("SLURM_OVERCOMMIT", 1);
  out.text("SLURM_UMASK", fmt::format("{:04o}", job.umask));
  out.text("SLURM_EXPORT_ENV", job.get(JobText::kExport));
}

void add_array(Writer& out, const LaunchStep& launch) {
  if (launch.array_job.value() == 0) return;
  out.number("SLURM_ARRAY_JOB_ID", launch.array_job.value());
  out.number("SLURM_ARRAY_TASK_ID", launch.array_index);
  out.number("SLURM_ARRAY_TASK_COUNT", launch.array.task_count);
  out.number("SLURM_ARRAY_TASK_MIN", launch.array.index_min);
  out.number("SLURM_ARRAY_TASK_MAX", launch.array.index_max);
  out.number("SLURM_ARRAY_TASK_STEP", launch.array.index_step);
}

void add_step(Writer& out, const LaunchStep& launch, const RankLayout& layout) {
  if (launch.step == nullptr) {
    out.number("SLURM_NODEID", 0);
    out.text("SLURM_GTIDS", "0");
    return;
  }
  const StepSpec& step = *launch.step;
  out.number("SLURM_STEP_ID", launch.id.step);
  out.number("SLURM_STEPID", launch.id.step);
  out.text("SLURM_STEP_NODELIST", launch.step_node_list);
  out.number("SLURM_STEP_NUM_NODES", launch.step_tasks.size());
  out.number("SLURM_STEP_NUM_TASKS", step.task_count);
  out.text("SLURM_STEP_TASKS_PER_NODE", counts_text(launch.step_tasks));
  out.number("SLURM_NTASKS", step.task_count);
  out.number("SLURM_NPROCS", step.task_count);
  out.text("SLURM_TASKS_PER_NODE", counts_text(launch.step_tasks));
  out.number("SLURM_NODEID", launch.node_rank);
  out.text("SLURM_GTIDS", ranks_text(layout[launch.node_rank]));
  if (step.is_cpus_per_task_given) out.number("SLURM_CPUS_PER_TASK", step.cpus_per_task);
  if (step.tasks_per_node != 0) out.number("SLURM_NTASKS_PER_NODE", step.tasks_per_node);
  out.text("SLURM_STEP_GPUS", devices_text(launch.step_grant, "gpu"));
  out.text("SLURM_DISTRIBUTION", step.get(StepText::kDistribution));
  out.text("SLURM_SRUN_COMM_HOST", step.get(StepText::kSubmitHost));
  out.text("SLURM_LAUNCH_NODE_IPADDR", step.get(StepText::kSubmitHost));
  out.text("SLURM_CPU_BIND", fmt::format("quiet,mask_cpu:{}", cpu_mask_text(launch.step_grant.cpus)));
  out.text("SLURM_CPU_BIND_TYPE", "mask_cpu:");
  out.text("SLURM_CPU_BIND_LIST", cpu_mask_text(launch.step_grant.cpus));
  out.text("SLURM_CPU_BIND_VERBOSE", "quiet");
}

void set_devices(Environment& environment, const std::string& devices) {
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"}) {
    set_variable(environment, name, devices);
  }
}

/// A task's share of the node's devices when so many were asked for per task: consecutive, by local id.
std::string task_devices(const LaunchStep& launch, std::uint32_t local_id) {
  if (launch.step == nullptr || launch.step->get(StepText::kGresPerTask).empty()) return "";
  const auto per_task = parse_gres(launch.step->get(StepText::kGresPerTask));
  std::uint32_t count = 0;
  for (const GresAmount& amount : per_task.value_or(std::vector<GresAmount>{})) count += amount.name == "gpu" ? amount.count : 0;
  std::vector<std::size_t> all;
  for (const GresGrant& gres : launch.step_grant.gres) {
    if (gres.name == "gpu") gres.devices.for_each([&](std::size_t index) { all.push_back(index); });
  }
  std::string text;
  for (std::size_t i = std::size_t{local_id} * count; i < all.size() && i < std::size_t{local_id + 1} * count; ++i) {
    text += (text.empty() ? "" : ",") + std::to_string(all[i]);
  }
  return text;
}

}  // namespace

RankLayout step_layout(const LaunchStep& launch) {
  if (launch.step == nullptr) return {{0}};
  DistributionRule rule;
  const std::string_view text = launch.step->get(StepText::kDistribution);
  if (text.empty()) {
    if (launch.step->task_count <= launch.step_tasks.size()) rule.kind = Distribution::kCyclic;
  } else {
    rule = parse_distribution(text).value_or(rule);
  }
  return rank_layout(launch.step_tasks, rule);
}

Environment node_environment(const LaunchStep& launch, const RankLayout& layout, const std::string& conf_path) {
  Environment environment = parse_environment(launch.environment == nullptr ? "" : *launch.environment);
  Writer out(environment);
  add_identity(out, launch);
  add_allocation(out, launch);
  add_requested(out, launch);
  add_array(out, launch);
  add_step(out, launch, layout);
  out.text("SLURM_CONF", conf_path);
  if (!get_variable(environment, "TMPDIR")) set_variable(environment, "TMPDIR", "/tmp");
  const std::string devices = devices_text(launch.step == nullptr ? launch.job_grant : launch.step_grant, "gpu");
  if (!devices.empty()) set_devices(environment, devices);
  return environment;
}

void add_task_variables(Environment& environment, const LaunchStep& launch, std::uint32_t rank, std::uint32_t local_id,
                        std::int64_t process_id) {
  set_variable(environment, "SLURM_PROCID", std::to_string(rank));
  set_variable(environment, "SLURM_LOCALID", std::to_string(local_id));
  set_variable(environment, "SLURM_TASK_PID", std::to_string(process_id));
  const std::string devices = task_devices(launch, local_id);
  if (!devices.empty()) set_devices(environment, devices);
}

}  // namespace muster

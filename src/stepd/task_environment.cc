// Later functions overwrite earlier ones: the submitter's environment, the policy's variables, the
// job, its array, the step, its binding, and for each task its own. Names and forms are those of
// sbatch(1) and srun(1), OUTPUT ENVIRONMENT VARIABLES.
#include "stepd/task_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "slurm/requested_variables.h"
#include "text/words.h"

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

void add_identity(Writer& out, const LaunchStep& launch) {
  const JobSpec& job = *launch.job;
  out.number("SLURM_JOB_ID", launch.id.job.value());
  out.number("SLURM_JOBID", launch.id.job.value());
  out.text("SLURM_JOB_NAME", job.name());
  out.text("SLURM_CLUSTER_NAME", launch.cluster_name);
  out.text("SLURM_JOB_PARTITION", launch.partition);
  out.text("SLURM_JOB_ACCOUNT", job.get(JobText::kAccount));
  out.text("SLURM_JOB_QOS", job.get(JobText::kQos));
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
  out.text("SLURM_SUBMIT_DIR", job.get(JobText::kSubmitDir).empty() ? job.get(JobText::kWorkDir)
                                                                    : job.get(JobText::kSubmitDir));
  out.text("SLURM_SUBMIT_HOST", job.get(JobText::kSubmitHost));
  if (launch.restart_count != 0) out.number("SLURM_RESTART_COUNT", launch.restart_count);
}

void add_allocation(Writer& out, const LaunchStep& launch) {
  out.text("SLURM_JOB_NODELIST", launch.job_node_list);
  // Two names of old for the same.
  out.text("SLURM_NODELIST", launch.job_node_list);
  out.number("SLURM_JOB_NUM_NODES", launch.job_cpus.size());
  out.number("SLURM_NNODES", launch.job_cpus.size());
  out.text("SLURM_JOB_CPUS_PER_NODE", counts_text(launch.job_cpus));
  out.text("SLURM_TASKS_PER_NODE", counts_text(launch.job_tasks));
  out.text("SLURMD_NODENAME", launch.node_name);
  // A script sees the job's grant, a step its own.
  const NodeGrant& here = launch.step == nullptr ? launch.job_grant : launch.step_grant;
  out.number("SLURM_CPUS_ON_NODE", here.cpus.count());
  if (launch.step == nullptr) out.text("SLURM_JOB_GPUS", index_text(gpus_of(launch.job_grant)));
  if (launch.job->sharing == Sharing::kExclusive) out.number("SLURM_JOB_EXCLUSIVE", 1);
}

/// The script's steps follow the job's --export; what tasks themselves call does not.
void add_requested(Environment& environment, const LaunchStep& launch) {
  const JobSpec& job = *launch.job;
  add_requested_variables(environment, job);
  Writer out(environment);
  if (follows_nodes(job)) {
    for (const char* name : {"SLURM_NTASKS", "SLURM_NPROCS"})
      out.number(name, task_count_on(job, launch.job_cpus.size()));
  }
  out.text("SLURM_UMASK",
           fmt::format("{:04o}", launch.step == nullptr ? job.umask : launch.step->umask));
  if (launch.step == nullptr) out.text("SLURM_EXPORT_ENV", job.get(JobText::kExport));
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
  out.text("SLURM_TRES_PER_TASK",
           tres_per_task_text(step.is_cpus_per_task_given ? step.cpus_per_task : 0,
                              step.get(StepText::kGresPerTask)));
  if (step.tasks_per_node != 0) out.number("SLURM_NTASKS_PER_NODE", step.tasks_per_node);
  out.text("SLURM_SRUN_COMM_HOST", step.get(StepText::kSubmitHost));
  out.text("SLURM_LAUNCH_NODE_IPADDR", step.get(StepText::kSubmitHost));
}

/// The tasks' masks, as one where they are all the same.
std::string masks_text(const TaskBinding& binding) {
  if (binding.cpu_bind.kind == CpuBindKind::kNone) return "";
  const bool is_same =
      std::ranges::adjacent_find(binding.cpus, std::not_equal_to<>()) == binding.cpus.end();
  std::string list;
  for (const Bitmap& mask : binding.cpus) {
    if (is_same && !list.empty()) break;
    list += (list.empty() ? "" : ",") + mask_text(mask);
  }
  return list;
}

void add_cpu_bind(Environment& environment, const TaskBinding& binding) {
  const char* voice = binding.cpu_bind.is_verbose ? "verbose" : "quiet";
  const char* type = binding.cpu_bind.kind == CpuBindKind::kNone ? "none" : "mask_cpu:";
  const std::string list = masks_text(binding);
  // The list of a step around this one must not stay.
  unset_variable(environment, "SLURM_CPU_BIND_LIST");
  Writer out(environment);
  out.text("SLURM_CPU_BIND", fmt::format("{},{}{}", voice, type, list));
  out.text("SLURM_CPU_BIND_TYPE", type);
  out.text("SLURM_CPU_BIND_LIST", list);
  out.text("SLURM_CPU_BIND_VERBOSE", voice);
}

/// On a node with GPUs the lists are ours to say: who has none must not see those of whoever
/// submitted, or of the job around the step. On others they are the user's own.
void set_devices(Environment& environment, const LaunchStep& launch, const Bitmap& gpus) {
  const bool has_gpus =
      std::ranges::find(launch.pools, "gpu", &GresPool::name) != launch.pools.end();
  for (const char* name :
       {"CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"}) {
    if (!gpus.empty()) {
      set_variable(environment, name, index_text(gpus));
    } else if (has_gpus) {
      unset_variable(environment, name);
    }
  }
}

void add_devices(Environment& environment, const LaunchStep& launch) {
  const bool is_batch = launch.step == nullptr;
  const Bitmap gpus = gpus_of(is_batch ? launch.job_grant : launch.step_grant);
  // What the environment of the job around the step says must not stay.
  for (const char* name : {"SLURM_GPUS_ON_NODE", "SLURM_STEP_GPUS"})
    unset_variable(environment, name);
  Writer out(environment);
  if (!gpus.empty()) out.number("SLURM_GPUS_ON_NODE", gpus.count());
  if (!is_batch) out.text("SLURM_STEP_GPUS", index_text(gpus));
  set_devices(environment, launch, gpus);
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

Environment node_environment(const LaunchStep& launch, const RankLayout& layout,
                             const TaskBinding& binding, const std::string& conf_path) {
  Environment environment =
      parse_environment(launch.environment == nullptr ? "" : *launch.environment);
  // Over the submitter's: the platform's variables must be those of this run.
  for (const std::string& variable : launch.variables) {
    const std::size_t equals = variable.find('=');
    set_variable(environment, std::string_view(variable).substr(0, equals),
                 std::string_view(variable).substr(equals + 1));
  }
  Writer out(environment);
  add_identity(out, launch);
  add_allocation(out, launch);
  add_requested(environment, launch);
  add_array(out, launch);
  add_step(out, launch, layout);
  if (launch.step != nullptr) {
    set_distribution(environment, launch.step->get(StepText::kDistribution));
    set_memory_variable(environment, launch.step->memory_scope, launch.step->memory_mib);
    add_cpu_bind(environment, binding);
  }
  add_devices(environment, launch);
  out.text("SLURM_CONF", conf_path);
  // Job ids begin anew with each cluster: what a job keeps in a folder is found again by both.
  if (!launch.cluster_id.empty()) out.text("MUSTER_CLUSTER_ID", launch.cluster_id);
  out.text("MUSTER_CONF", conf_path);  // some tools take every SLURM_* away from what they start
  if (!get_variable(environment, "TMPDIR")) set_variable(environment, "TMPDIR", "/tmp");
  return environment;
}

void add_search_folder(Environment& environment, const std::string& folder) {
  const auto path = get_variable(environment, "PATH");
  if (!path || path->empty()) {
    constexpr std::string_view kOfShells =
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";  // when they have none
    return set_variable(environment, "PATH", fmt::format("{}:{}", kOfShells, folder));
  }
  const auto folders = split(*path, ':');
  // There already, at its place.
  if (std::ranges::find(folders, folder) != folders.end()) return;
  set_variable(environment, "PATH", fmt::format("{}:{}", *path, folder));
}

void add_task_variables(Environment& environment, const LaunchStep& launch,
                        const TaskBinding& binding, const TaskIdentity& task) {
  set_variable(environment, "SLURM_PROCID", std::to_string(task.rank));
  set_variable(environment, "SLURM_LOCALID", std::to_string(task.local_id));
  set_variable(environment, "SLURM_TASK_PID", std::to_string(task.process_id));
  const Bitmap& gpus = binding.gpus[task.local_id];
  set_devices(environment, launch, gpus);
  // Those that the task is bound to; SLURM_GPUS_ON_NODE counts all of its step's.
  if (launch.step == nullptr) return;
  unset_variable(environment, "SLURM_STEP_GPUS");
  Writer(environment).text("SLURM_STEP_GPUS", index_text(gpus));
}

}  // namespace muster

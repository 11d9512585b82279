// Views are what clients and history get: complete values. Columns whose form is Slurm's (TRES
// texts, reasons, file names) are made here, so that every client shows the same.
#include "state/views.h"

#include <algorithm>
#include <cmath>

#include "slurm/array_text.h"
#include "slurm/dependency_text.h"
#include "slurm/file_pattern.h"
#include "slurm/gres_text.h"
#include "slurm/hostlist.h"
#include "state/resource_need.h"
#include "trials/trial_text.h"

namespace muster {
namespace {

void add_gres(std::vector<GresAmount>& amounts, const std::vector<GresAmount>& more,
              std::uint32_t factor) {
  for (const GresAmount& amount : more)
    // Per node or per task times as many.
    amounts.push_back({amount.name, amount.type, amount.count * factor});
}

std::string allocated_tres(const std::vector<NodeGrant>& grants, bool is_billed = true) {
  TresCounts counts;
  for (const NodeGrant& grant : grants) {
    counts.cpus += grant.cpus.count();
    counts.memory_mib += grant.memory_mib;
    ++counts.nodes;
    for (const GresGrant& gres : grant.gres) {
      counts.gres.push_back(
          {gres.name, gres.type, static_cast<std::uint32_t>(gres.devices.count())});
    }
  }
  // Billing is the number of CPUs: TRESBillingWeights are not configured. Source: slurm.conf(5).
  if (is_billed) counts.billing = counts.cpus;
  return tres_text(counts);
}

/// The least CPUs a job needs: what `squeue` shows while it waits.
std::uint32_t least_cpus(const JobSpec& spec) {
  // At least one CPU a node, and what --ntasks-per-node sets aside there.
  const std::uint32_t nodes = std::max(1U, spec.request->min_nodes);
  const std::uint32_t by_tasks =
      spec.request->task_count * std::max(1U, spec.request->cpus_per_task);
  return std::max({by_tasks, nodes, nodes * spec.request->min_cpus_per_node});
}

std::uint64_t requested_memory(const ResourceRequest& need, std::uint32_t cpus,
                               std::uint64_t gpus) {
  switch (need.memory_scope) {
    case MemoryScope::kDefault: return 0;
    case MemoryScope::kPerNode: return need.memory_mib * std::max(1U, need.min_nodes);
    case MemoryScope::kPerCpu: return need.memory_mib * cpus;
    case MemoryScope::kPerGpu: return need.memory_mib * gpus;
  }
  return 0;
}

std::string requested_tres(const Job& job, const ClusterState& state) {
  // Of several partitions the first is shown for a job that waits.
  const PartitionIndex partition = job.is_pending() ? job.partitions.front() : job.partition;
  const auto need = resource_need(*job.spec, state.partition(partition), state.settings());
  if (!need.has_value()) return "";
  TresCounts counts;
  counts.cpus = least_cpus(*job.spec);
  counts.nodes = std::max(1U, need->min_nodes);
  counts.billing = counts.cpus;
  add_gres(counts.gres, need->gres_per_node, static_cast<std::uint32_t>(counts.nodes));
  add_gres(counts.gres, need->gres_per_job, 1);
  add_gres(counts.gres, need->gres_per_task, need->task_count);
  std::uint64_t gpus = 0;
  for (const GresAmount& amount : counts.gres) gpus += amount.name == "gpu" ? amount.count : 0;
  // What the memory rules made of the request when it came in or started, not what they would make
  // of it now.
  counts.memory_mib =
      requested_memory(*job.spec->request, static_cast<std::uint32_t>(counts.cpus), gpus);
  return tres_text(counts);
}

std::string partition_list(const Job& job, const ClusterState& state) {
  // One that started is in the partition where it did.
  if (!job.is_pending()) return state.partition(job.partition).name;
  std::string names;
  for (const PartitionIndex index : job.partitions) {
    names += (names.empty() ? "" : ",") + state.partition(index).name;
  }
  return names;
}

/// Why it waits that the planner has nothing to say about: its time has not come, or enough of its
/// elements run.
Reasons not_its_turn(const Job& job, TimePoint now) {
  Reasons reasons;
  if (job.eligible_time > now) {
    reasons.word = PendingReason::kBeginTime;
    reasons.details.push_back({PendingReason::kBeginTime, "begin time is ahead", 0, 0, {}, {}});
    reasons.expected_start = job.eligible_time;
  } else if (job.array != nullptr && !job.array_index && job.array->remaining.throttle != 0 &&
             job.array->active_elements >= job.array->remaining.throttle) {
    reasons.word = PendingReason::kJobArrayTaskLimit;
    reasons.details.push_back({PendingReason::kJobArrayTaskLimit,
                               "array elements at once",
                               // The number that would run with one more.
                               job.array->active_elements + std::uint64_t{1},
                               job.array->remaining.throttle,
                               {},
                               {}});
  }
  return reasons;
}

/// What the state alone says about why a job waits or ended as it did.
Reasons standing_reasons(const Job& job) {
  Reasons reasons;
  // Ended or running: the reason is that of the end.
  reasons.word = job.reason;
  if (!job.is_pending()) return reasons;
  if ((job.flags & job_flag::kAdminHeld) != 0) {
    reasons.word = PendingReason::kJobHeldAdmin;
    // A hold with a reason of its own (JobHoldMaxRequeue) keeps that.
  } else if ((job.flags & job_flag::kAnyHold) != 0 && reasons.word == PendingReason::kNone) {
    reasons.word = PendingReason::kJobHeldUser;
  } else if (reasons.word == PendingReason::kNone && job.dependencies != nullptr &&
             !job.eligible_time.is_set()) {
    reasons.word = PendingReason::kDependency;
  }
  return reasons;
}

void fill_array(JobView& view, const Job& job) {
  view.array_job = job.array_job;
  view.array_index = job.array_index;
  if (job.array == nullptr) return;
  view.array_throttle = job.array->remaining.throttle;
  // An element shows its own index, not what is left.
  if (job.array_index) return;
  view.array_remaining = array_indices_text(job.array->remaining.indices);
  view.array_remaining_count = static_cast<std::uint32_t>(job.array->remaining.indices.count());
}

void fill_allocation(JobView& view, const Job& job, const ClusterState& state, QueryDetail detail) {
  // Before it has nodes: the least that it asks for.
  view.node_count = std::max(1U, job.spec->request->min_nodes);
  view.cpu_count = least_cpus(*job.spec);
  if (job.run == nullptr) return;
  const auto& grants = job.run->allocation->nodes;
  const std::vector<std::string> names = node_names(grants, state);
  view.node_list = compress_hostlist(names);
  view.batch_host = job.spec->kind == JobKind::kBatch ? names.front() : "";
  view.node_count = static_cast<std::uint32_t>(grants.size());
  view.cpu_count = job.run->allocation->cpu_count();
  for (const NodeGrant& grant : grants) view.memory_mib += grant.memory_mib;
  view.usage += job.run->forgotten.usage;
  // Steps that left the record count on in its sums.
  if (job.run->forgotten.exit > view.derived_exit) view.derived_exit = job.run->forgotten.exit;
  // The highest exit of srun's steps. Source: sacct(1), DerivedExitCode.
  for (const StepState& step : job.run->steps) {
    view.usage += step.usage;
    if (step.exit > view.derived_exit && step.id.step < kInteractiveStep)
      // The batch script, extern and interactive steps have the highest numbers and do not count.
      view.derived_exit = step.exit;
  }
  // The rest is costly and for full views alone.
  if (detail != QueryDetail::kFull) return;
  view.grants = grants;
  view.node_names = names;
  view.allocated_tres = allocated_tres(grants);
}

FilePatternValues pattern_values(const Job& job, const ClusterState& state) {
  FilePatternValues values = pattern_values_of(job);
  if (job.run != nullptr) {
    values.host = state.nodes().at(job.run->allocation->nodes.front().node).config.name;
  }
  return values;
}

std::string absolute(std::string_view work_dir, std::string path) {
  // Relative paths are below the job's working directory.
  if (path.empty() || path.front() == '/') return path;
  return std::string(work_dir) + "/" + path;
}

}  // namespace

std::optional<std::size_t> part_on(const StepState& step, NodeIndex node) {
  const auto& nodes = step.layout->nodes;
  const auto here = std::ranges::find(nodes, node, &NodeGrant::node);
  return here == nodes.end() ? std::nullopt
                             : std::optional(static_cast<std::size_t>(here - nodes.begin()));
}

std::vector<std::string> node_names(const std::vector<NodeGrant>& grants,
                                    const ClusterState& state) {
  std::vector<std::string> names;
  names.reserve(grants.size());
  for (const NodeGrant& grant : grants) names.push_back(state.nodes().at(grant.node).config.name);
  return names;
}

std::string job_file(const Job& job, const ClusterState& state, JobText key) {
  if (job.spec->kind != JobKind::kBatch) return "";
  if (key == JobText::kStdIn) {
    const std::string_view path = job.spec->get(key);
    return path.empty() ? "/dev/null"
                        : absolute(job.spec->get(JobText::kWorkDir), std::string(path));
  }
  std::string pattern(job.spec->get(key));
  if (pattern.empty() && key == JobText::kStdErr)
    pattern = std::string(job.spec->get(JobText::kStdOut));
  if (pattern.empty()) pattern = job.array_job.value() != 0 ? "slurm-%A_%a.out" : "slurm-%j.out";
  // Of an array as a whole %a stands for nothing yet.
  const bool is_element_known = job.array_job.value() == 0 || job.array_index;
  return absolute(
      job.spec->get(JobText::kWorkDir),
      is_element_known ? expand_file_pattern(pattern, pattern_values(job, state)) : pattern);
}

JobView view_of(const Job& job, const ClusterState& state, QueryDetail detail,
                const Reasons* reasons, TimePoint now) {
  JobView view;
  view.id = job.id;
  view.spec = job.spec;
  view.attempt = job.attempt;
  view.state = job.state;
  view.flags = job.flags;
  view.reasons = standing_reasons(job);
  // The state's own reasons come first: a held job waits for its release, not for room.
  if (job.is_pending() && view.reasons.word == PendingReason::kNone) {
    view.reasons = not_its_turn(job, std::max(now, state.time()));
    if (view.reasons.word == PendingReason::kNone && reasons != nullptr) view.reasons = *reasons;
  }
  // To users a priority of 0 means that the job is held. Source: scontrol(1), Priority.
  view.priority = job.is_held() ? 0 : std::max<std::int64_t>(1, job.priority);
  view.partition = partition_list(job, state);
  view.time_limit = job.time_limit;
  view.submit_time = job.submit_time;
  view.eligible_time = job.eligible_time;
  view.start_time = job.start_time;
  view.end_time = job.end_time;
  if (job.run != nullptr) view.suspend_time = job.run->suspend_time;
  view.suspended_before = job.suspended_before();
  view.exit = job.exit;
  view.cancelled_by = job.cancelled_by;
  if (job.detail != nullptr) view.detail = *job.detail;
  fill_array(view, job);
  fill_allocation(view, job, state, detail);
  if (job.dependencies != nullptr) view.dependency = dependency_text(*job.dependencies);
  if (detail != QueryDetail::kFull) return view;
  view.requested_tres = requested_tres(job, state);
  // Expanded paths: what the user would look for.
  view.std_out = job_file(job, state, JobText::kStdOut);
  view.std_err = job_file(job, state, JobText::kStdErr);
  view.std_in = job_file(job, state, JobText::kStdIn);
  return view;
}

std::string step_name(const StepState& step, const Job& job) {
  if (step.id.step == kBatchStep) return "batch";
  if (step.id.step == kExternStep) return "extern";
  if (step.id.step == kInteractiveStep) return "interactive";
  return std::string(step.spec != nullptr ? step.spec->get(StepText::kName) : job.spec->name());
}

namespace {

/// Without the key of its streams, which is its srun's and its supervisors' alone.
StepSpecRef shown_spec(const StepSpecRef& spec) {
  if (spec == nullptr || spec->get(StepText::kIoKey).empty()) return spec;
  // A copy: the specification is shared with the state.
  auto shown = std::make_shared<StepSpec>(*spec);
  shown->text.set(StepText::kIoKey, "");
  return shown;
}

}  // namespace

StepView view_of(const StepState& step, const Job& job, const ClusterState& state) {
  StepView view;
  view.id = step.id;
  view.spec = shown_spec(step.spec);
  view.name = step_name(step, job);
  view.user = std::string(job.spec->get(JobText::kUserName));
  view.account = std::string(job.spec->get(JobText::kAccount));
  view.partition = state.partition(job.partition).name;
  view.uid = job.spec->user;
  view.array_job = job.array_job;
  view.array_index = job.array_index;
  view.state = step.state;
  view.start_time = step.start_time;
  view.end_time = step.end_time;
  // Without one of its own a step is limited by its job.
  view.time_limit = step.spec != nullptr && step.spec->time_limit != Duration()
                        ? step.spec->time_limit
                        : Duration::infinite();
  view.exit = step.exit;
  // Ended with its job: by whom that was.
  view.cancelled_by = step.cancelled_by.value_or(job.cancelled_by);
  view.node_list = compress_hostlist(node_names(step.layout->nodes, state));
  view.node_count = static_cast<std::uint32_t>(step.layout->nodes.size());
  for (const NodeGrant& grant : step.layout->nodes) {
    view.task_count += grant.task_count;
    view.cpu_count += static_cast<std::uint32_t>(grant.cpus.count());
  }
  if (step.id.step == kBatchStep) view.task_count = 1;
  // Steps are not billed.
  view.allocated_tres = allocated_tres(step.layout->nodes, false);
  view.usage = step.usage;
  view.detail = step.detail;
  if (job.run != nullptr) view.launch_key = job.run->launch_key_of(step);
  return view;
}

NodeView view_of(NodeIndex index, const ClusterState& state) {
  const Node& node = state.nodes().at(index);
  NodeView view;
  view.config = node.config;
  view.status = node.status;
  view.allocated_cpus = static_cast<std::uint32_t>(node.used_cpus.count());
  view.allocated_memory_mib = node.used_memory_mib;
  std::size_t first = 0;
  std::map<std::string, std::size_t> first_of;
  for (const GresPool& pool : node.config.gres) {
    // Numbered through the pools of a name, as devices_of.
    first = first_of[pool.name];
    first_of[pool.name] += pool.count;
    GresGrant used{pool.name, pool.type, Bitmap::range(first, pool.count)};
    const auto taken = node.used_gres.find(pool.name);
    used.devices &= taken == node.used_gres.end() ? Bitmap() : taken->second;
    view.allocated_gres.push_back(std::move(used));
  }
  for (const JobId id : node.jobs)
    view.is_completing = view.is_completing || state.jobs().find(id)->is_completing();
  for (const PartitionConfig& partition : state.partitions()) {
    // partition.nodes rises (aligned_config).
    if (std::ranges::binary_search(partition.nodes, index))
      view.partitions.push_back(partition.name);
  }
  return view;
}

PartitionView view_of(const PartitionConfig& partition, const ClusterState& state) {
  PartitionView view;
  view.config = partition;
  TresCounts counts;
  for (const NodeIndex index : partition.nodes) {
    const Node& node = state.nodes().at(index);
    view.nodes.push_back(node.config.name);
    view.total_cpus += node.config.cpus;
    counts.memory_mib += node.config.memory_mib;
    for (const GresPool& pool : node.config.gres)
      counts.gres.push_back({pool.name, pool.type, pool.count});
  }
  view.total_nodes = static_cast<std::uint32_t>(partition.nodes.size());
  counts.cpus = view.total_cpus;
  counts.nodes = view.total_nodes;
  counts.billing = counts.cpus;
  view.tres = tres_text(counts);
  return view;
}

namespace {

void count(const Trial& trial, const ClusterState& state, TrialCounts& counts) {
  const Job* job = state.jobs().find(trial.job);
  switch (trial.state) {
    case TrialState::kCompleted: ++counts.completed; return;
    case TrialState::kCanceled: ++counts.canceled; return;
    case TrialState::kError: ++counts.errored; return;
    case TrialState::kActive: break;
  }
  // Nodes decide: a job that is completing still runs.
  if (job != nullptr && job->holds_resources()) {
    ++counts.running;
  } else if (job != nullptr && (job->flags & job_flag::kTrialHeld) != 0) {
    ++counts.waiting;
  } else {
    ++counts.queued;
  }
}

/// A state of an earlier version knows the last one alone.
std::optional<double> best_of(const Trial& trial) {
  return trial.best_metric ? trial.best_metric : trial.metric;
}

bool is_better(double metric, const ExperimentView& view, bool smaller_is_better) {
  // A NaN is nobody's best.
  if (std::isnan(metric)) return false;
  return view.best_trial.value() == 0 ||
         (smaller_is_better ? metric < view.best_metric : metric > view.best_metric);
}

}  // namespace

ExperimentView view_of(const Experiment& experiment, const ClusterState& state,
                       QueryDetail detail) {
  ExperimentView view;
  view.id = experiment.id;
  view.spec = experiment.spec;
  if (detail != QueryDetail::kFull) {
    // Texts of a configuration are most of a list's bytes.
    auto brief = std::make_shared<ExperimentSpec>(*experiment.spec);
    brief->config.clear();
    brief->original.clear();
    brief->job = nullptr;
    view.spec = std::move(brief);
  }
  view.labels = experiment.labels;
  view.state = experiment.state;
  view.submit_time = experiment.submit_time;
  view.end_time = experiment.end_time;
  // Searches that ended without finishing keep the share that they came to.
  view.progress = is_final(experiment.state) && experiment.outcome ? 1 : experiment.progress;
  view.detail = experiment.detail;
  view.retention = experiment.retention;
  view.share = experiment.share;
  view.used_slot_time = experiment.used_slot_time;
  view.max_slots = experiment.max_slots;
  for (const TrialId id : experiment.trials) {
    const Trial& trial = *state.experiments().find(id);
    count(trial, state, view.trials);
    const std::optional<double> best = best_of(trial);
    if (!best || !is_better(*best, view, experiment.spec->smaller_is_better)) continue;
    view.best_trial = id;
    view.best_metric = *best;
  }
  return view;
}

std::int32_t log_retention_of(const Trial& trial, const ClusterState& state) {
  const Experiment& experiment = *state.experiments().find(trial.experiment);
  return trial.log_retention_days.value_or(
      experiment.log_retention_days.value_or(state.settings().log_retention_days));
}

TrialView view_of(const Trial& trial, const ClusterState& state) {
  TrialView view;
  view.id = trial.id;
  view.experiment = trial.experiment;
  view.index = trial.index;
  view.job = trial.job;
  view.state = trial.state;
  if (const Job* job = state.jobs().find(trial.job)) {
    view.job_state = job->state;
    view.job_reason = standing_reasons(*job).word;
    view.runs = last_run(*job);
    // Of its present attempt.
    view.start_time = job->start_time;
    if (job->run != nullptr && job->run->stop && !trial.is_over())
      view.stopping = job->run->stop->call;
  }
  // The job is gone, or another's number: the trial knows.
  if (trial.is_over()) view.runs = trial.last_run;
  view.restarts = trial.restarts;
  view.seed = trial.seed;
  view.bracket = trial.bracket;
  view.hparams = trial.hparams;
  view.target = trial.target;
  view.is_waiting = trial.is_waiting;
  view.stop = trial.stop;
  view.metric = trial.metric;
  view.best_metric = best_of(trial);
  view.units = trial.units;
  view.submit_time = trial.submit_time;
  view.end_time = trial.end_time;
  view.detail = trial.detail;
  view.folder = trial_folder(*state.experiments().find(trial.experiment)->spec, trial.id);
  if (const CheckpointRef latest = state.checkpoints().latest(trial.id))
    view.latest_checkpoint = latest->uuid;
  for (const CheckpointRef& checkpoint : state.checkpoints().of(trial.id)) {
    // Deleted ones take no room.
    if (checkpoint->state == CheckpointState::kDeleted) continue;
    view.checkpoint_bytes += checkpoint->size;
    ++view.checkpoints;
  }
  view.source = trial.source;
  view.log_matches = trial.log_matches;
  view.log_retention_days = log_retention_of(trial, state);
  view.slots = slots_of(trial, *state.experiments().find(trial.experiment)->spec);
  return view;
}

}  // namespace muster

// scontrol's records: one key after the other, in the order and with the line breaks of Slurm
// 22.05, because scripts cut them by line as well as by key. What Muster has not shows the value
// that Slurm has without it.

#include "cli/slurm/record_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/lib/job_selector.h"
#include "cli/lib/job_text.h"
#include "cli/lib/node_text.h"
#include "slurm/array_text.h"
#include "slurm/duration_text.h"
#include "slurm/gres_text.h"
#include "slurm/hostlist.h"
#include "slurm/memory_text.h"
#include "slurm/rank_layout.h"
#include "slurm/signal_text.h"
#include "text/printable_text.h"
#include "text/words.h"

namespace muster::cli {

std::string Record::fmt_word(std::string_view key, std::string_view value) {
  // Users write names and comments: control characters in them must not reach a terminal.
  return is_printable(value) ? fmt::format("{}={}", key, value)
                             : fmt::format("{}={}", key, printable(value));
}
std::string Record::fmt_word(std::string_view key, std::uint64_t value) {
  return fmt::format("{}={}", key, value);
}

Record& Record::word(std::string word) {
  if (is_line_begun_) {
    lines_.push_back(std::move(word));
    is_line_begun_ = false;
  } else {
    lines_.back() += " " + word;
  }
  return *this;
}

std::string Record::text(bool is_one_line) const {
  // With -o everything on one line; otherwise an empty line behind each record.
  return join(lines_, is_one_line ? " " : "\n   ") + (is_one_line ? "\n" : "\n\n");
}

namespace {

std::string yes_no(bool value) { return value ? "YES" : "NO"; }
/// A number, or the word for "not asked for".
std::string number_or(std::uint32_t value, std::string_view absent) {
  return value == 0 ? std::string(absent) : fmt::format("{}", value);
}
std::string padded(Duration duration) { return padded_duration_text(duration); }

/// Blanks would end the value.
std::string without_blanks(std::string_view text) {
  std::string result(text);
  std::ranges::replace(result, ' ', '_');
  return result;
}

// ---- jobs ----

void add_identity(Record& record, const JobView& job, const ShowContext& context) {
  const JobSpec& spec = *job.spec;
  record.add("JobId", job.id.value());
  if (job.array_job.value() != 0) {
    record.add("ArrayJobId", job.array_job.value());
    if (job.array_index) {
      record.add("ArrayTaskId", *job.array_index);
    } else {
      // A long list of indices is cut, as squeue cuts it.
      record.add("ArrayTaskId", cut_array_text(job.array_remaining, context.array_text_max));
    }
    if (job.array_throttle != 0) record.add("ArrayTaskThrottle", job.array_throttle);
  }
  record.add("JobName", or_null(spec.name()));
  record.line();
  record.add("UserId", fmt::format("{}({})", spec.get(JobText::kUserName), spec.user.value()));
  record.add("GroupId", fmt::format("{}({})", spec.get(JobText::kGroupName), spec.group.value()));
  record.add("MCS_label", spec.get(JobText::kMcsLabel).empty()
                              ? "N/A"
                              : std::string(spec.get(JobText::kMcsLabel)));
  record.line();
  record.add("Priority", fmt::format("{}", job.priority)).add("Nice", fmt::format("{}", spec.nice));
  record.add("Account", or_null(spec.get(JobText::kAccount)))
      .add("QOS", or_null(spec.get(JobText::kQos)));
  if (!spec.get(JobText::kWckey).empty()) record.add("WCKey", spec.get(JobText::kWckey));
}

void add_state(Record& record, const JobView& job, bool has_detail) {
  record.line().add("JobState", shown_state_name(job.state, job.flags));
  record.add("Reason", without_blanks(reason_word(job))).add("Dependency", or_null(job.dependency));
  record.line().add("Requeue", job.spec->is_requeue ? 1U : 0U).add("Restarts", job.attempt);
  record.add("BatchFlag", job.spec->kind == JobKind::kBatch ? 1U : 0U)
      .add("Reboot", job.spec->is_reboot ? 1U : 0U);
  record.add("ExitCode", exit_text(job.exit));
  // Only with -d. Source: scontrol(1), --details.
  if (has_detail) record.line().add("DerivedExitCode", exit_text(job.derived_exit));
}

void add_times(Record& record, const JobView& job, const ShowContext& context) {
  record.line()
      .add("RunTime", padded(run_time(job, context.now)))
      .add("TimeLimit", padded(job.time_limit))
      .add("TimeMin", "N/A");
  record.line().add("SubmitTime", context.time(job.submit_time, "Unknown"));
  record.add("EligibleTime", context.time(eligible_of(job), "Unknown"));
  // Age of a job counts from when it was eligible.
  record.line().add("AccrueTime", context.time(eligible_of(job), "Unknown"));
  record.line()
      .add("StartTime", context.time(start_of(job), "Unknown"))
      .add("EndTime", context.time(end_of(job), "Unknown"));
  record.add("Deadline", context.time(job.spec->deadline, "N/A"));
  record.line().add("SuspendTime", context.time(job.suspend_time, "None"));
  record.add("SecsPreSuspend", fmt::format("{}", job.suspended_before.seconds()));
  // Fields without a counterpart: every job comes from the one scheduler.
  record.add("LastSchedEval", "Unknown").add("Scheduler", "Main");
}

void add_places(Record& record, const JobView& job) {
  const JobSpec& spec = *job.spec;
  record.line().add("Partition", job.partition);
  record.add("AllocNode:Sid",
             fmt::format("{}:{}", spec.get(JobText::kSubmitHost), spec.submit_session));
  record.line()
      .add("ReqNodeList", or_null(spec.get(JobText::kNodeList)))
      .add("ExcNodeList", or_null(spec.get(JobText::kExcludeList)));
  record.line().add("NodeList", job.node_list);
  // Where a pending job is expected to run.
  if (!job.planned_node_list.empty()) record.add("SchedNodeList", job.planned_node_list);
  if (!job.batch_host.empty()) record.line().add("BatchHost", job.batch_host);
}

void add_sizes(Record& record, const JobView& job) {
  const JobSpec& spec = *job.spec;
  // A pending job shows the range that it asked for.
  const bool is_range =
      job.state == JobState::kPending && spec.request->max_nodes >= job.node_count;
  record.line().add("NumNodes", is_range
                                    ? fmt::format("{}-{}", job.node_count, spec.request->max_nodes)
                                    : fmt::format("{}", job.node_count));
  record.add("NumCPUs", job.cpu_count)
      .add("NumTasks",
           std::max(task_count_on(spec, std::max(job.node_count, spec.request->min_nodes)),
                    job.node_count));
  record.add("CPUs/Task", number_or(spec.request->cpus_per_task, "N/A"));
  record.add("ReqB:S:C:T", fmt::format("0:{}:{}:{}", spec.request->sockets_per_node,
                                       or_star(spec.request->cores_per_socket),
                                       or_star(spec.request->threads_per_core)));
  record.line().add("ReqTRES", or_null(job.requested_tres));
  record.line().add("AllocTRES", or_null(job.allocated_tres));
  record.line().add("Socks/Node", or_star(spec.request->sockets_per_node));
  // N: nodes, B: boards, S: sockets, C: cores.
  record.add("NtasksPerN:B:S:C",
             fmt::format("{}:0:{}:{}", spec.request->tasks_per_node, or_star(spec.tasks_per_socket),
                         or_star(spec.tasks_per_core)));
  record.add("CoreSpec", or_star(spec.core_spec));
}

/// "gpu:h100:2(IDX:0-1)" of one node.
std::string gres_with_indices(const NodeGrant& grant) {
  std::string text;
  for (const GresGrant& gres : grant.gres) {
    text += fmt::format("{}{}{}{}:{}(IDX:{})", text.empty() ? "" : ",", gres.name,
                        gres.type.empty() ? "" : ":", gres.type, gres.devices.count(),
                        array_indices_text(gres.devices));
  }
  return text;
}

/// -d: what the job has on its nodes; nodes with the same are told together.
void add_grants(Record& record, const JobView& job) {
  // Sorted by name and type: the total's order does not hang on the nodes'.
  std::map<std::pair<std::string, std::string>, std::uint32_t> total;
  std::vector<std::pair<std::string, std::vector<std::string>>> shares;
  for (std::size_t i = 0; i < job.grants.size() && i < job.node_names.size(); ++i) {
    const NodeGrant& grant = job.grants[i];
    for (const GresGrant& gres : grant.gres)
      total[{gres.name, gres.type}] += static_cast<std::uint32_t>(gres.devices.count());
    const std::string share =
        fmt::format("CPU_IDs={} Mem={} GRES={}", array_indices_text(grant.cpus), grant.memory_mib,
                    gres_with_indices(grant));
    // Mostly all nodes have the same: one line then.
    const auto same =
        std::ranges::find(shares, share, [](const auto& known) { return known.first; });
    (same == shares.end() ? shares.emplace_back(share, std::vector<std::string>{}) : *same)
        .second.push_back(job.node_names[i]);
  }
  std::vector<GresAmount> amounts;
  for (const auto& [key, count] : total) amounts.push_back({key.first, key.second, count});
  record.line().add("JOB_GRES", or_null(gres_text(amounts)));
  for (const auto& [share, names] : shares) {
    record.line().add("  Nodes", fmt::format("{} {}", compress_hostlist(names), share));
  }
}

void add_memory(Record& record, const JobView& job) {
  const JobSpec& spec = *job.spec;
  record.line().add("MinCPUsNode", least_cpus_per_node(spec));
  switch (spec.request->memory_scope) {
    case MemoryScope::kPerCpu:
      record.add("MinMemoryCPU", memory_text(spec.request->memory_mib));
      break;
    case MemoryScope::kPerGpu:
      // Slurm's key for memory by any resource but CPUs.
      record.add("MinMemoryTRES", fmt::format("gres/gpu:{}", spec.request->memory_mib));
      break;
    default: record.add("MinMemoryNode", memory_text(spec.request->memory_mib)); break;
  }
  record.add("MinTmpDiskNode", memory_text(spec.request->tmp_disk_mib));
}

std::string_view oversubscribe_word(Sharing sharing) {
  switch (sharing) {
    case Sharing::kExclusive: return "NO";
    // The user's own jobs may share with each other.
    case Sharing::kShared: return "YES";
    case Sharing::kExclusiveUser: return "USER";
    case Sharing::kDefault: break;
  }
  return "OK";
}

void add_wishes(Record& record, const JobSpec& spec) {
  record.line().add("Features", or_null(spec.get(JobText::kFeatures))).add("DelayBoot", "00:00:00");
  if (!spec.get(JobText::kPrefer).empty()) record.line().add("Prefer", spec.get(JobText::kPrefer));
  if (!spec.get(JobText::kReservation).empty())
    record.line().add("Reservation", spec.get(JobText::kReservation));
  record.line().add("OverSubscribe", oversubscribe_word(spec.sharing));
  // Both forms: OverSubscribe is the older key.
  record.add("Exclusive", spec.sharing == Sharing::kExclusive ? "NODE" : "NO");
  record.add("Contiguous", spec.request->is_contiguous ? 1U : 0U);
  record.add("Licenses", or_null(spec.get(JobText::kLicenses))).add("LicensesAlloc", "(null)");
  record.add("Network", or_null(spec.get(JobText::kNetwork)));
}

void add_texts(Record& record, const JobView& job) {
  const JobSpec& spec = *job.spec;
  record.line().add("Command", or_null(spec.get(JobText::kCommand)));
  if (!spec.get(JobText::kSubmitLine).empty())
    record.line().add("SubmitLine", spec.get(JobText::kSubmitLine));
  record.line().add("WorkDir", spec.get(JobText::kWorkDir));
  if (!spec.get(JobText::kAdminComment).empty())
    record.line().add("AdminComment", spec.get(JobText::kAdminComment));
  if (!job.detail.empty()) record.line().add("SystemComment", job.detail);
  if (!spec.get(JobText::kComment).empty())
    record.line().add("Comment", spec.get(JobText::kComment));
  if (!spec.get(JobText::kExtra).empty()) record.line().add("Extra", spec.get(JobText::kExtra));
  // Only batch jobs have files of their own.
  if (spec.kind != JobKind::kBatch) return;
  record.line().add("StdErr", job.std_err);
  record.line().add("StdIn", job.std_in);
  record.line().add("StdOut", job.std_out);
}

void add_tres(Record& record, const JobSpec& spec) {
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) record.line().add(key, value);
  };
  add("TresPerJob", tres_per_text(spec.get(JobText::kGresPerJob)));
  add("TresPerNode", tres_per_text(spec.get(JobText::kGresPerNode)));
  add("TresPerTask", tres_per_text(spec.get(JobText::kGresPerTask)));
  add("TresBind", std::string(spec.get(JobText::kTresBind)));
  if (spec.request->cpus_per_gpu != 0)
    add("CpusPerTres", fmt::format("gres/gpu:{}", spec.request->cpus_per_gpu));
  if (spec.request->memory_scope == MemoryScope::kPerGpu)
    add("MemPerTres", fmt::format("gres/gpu:{}", spec.request->memory_mib));
  if (spec.signal_number != 0)
    add("Signal", fmt::format("{}@{}", signal_name(spec.signal_number), spec.signal_seconds));
  // Shown only where mail was asked for.
  if (spec.get(JobText::kMailType).empty()) return;
  record.line()
      .add("MailUser", or_null(spec.get(JobText::kMailUser)))
      .add("MailType", spec.get(JobText::kMailType));
}

}  // namespace

std::string job_record(const JobView& job, const ShowContext& context, bool has_detail,
                       bool is_one_line) {
  Record record;
  add_identity(record, job, context);
  add_state(record, job, has_detail);
  add_times(record, job, context);
  add_places(record, job);
  add_sizes(record, job);
  if (has_detail) add_grants(record, job);
  add_memory(record, job);
  add_wishes(record, *job.spec);
  add_texts(record, job);
  add_tres(record, *job.spec);
  return record.text(is_one_line);
}

std::string step_record(const StepView& step, const ShowContext& context, bool is_one_line) {
  Record record;
  record.add("StepId", step_id_text(step)).add("UserId", step.uid.value());
  record.add("StartTime", context.time(step.start_time, "Unknown"))
      .add("TimeLimit", padded(step.time_limit));
  record.line()
      .add("State", job_state_name(step.state))
      .add("Partition", or_null(step.partition))
      .add("NodeList", or_null(step.node_list));
  record.line()
      .add("Nodes", step.node_count)
      .add("CPUs", step.cpu_count)
      .add("Tasks", step.task_count);
  record.add("Name", or_null(step.name)).add("Network", "(null)");
  record.line().add("TRES", or_null(step.allocated_tres));
  return record.text(is_one_line);
}

// ---- nodes ----

namespace {

std::string node_tres(const NodeView& node, bool is_allocated) {
  TresCounts counts;
  if (!is_allocated) {
    // Slurm bills CPUs where no weights are configured.
    counts.cpus = counts.billing = node.config.cpus;
    counts.memory_mib = node.config.memory_mib;
    for (const GresPool& pool : node.config.gres)
      counts.gres.push_back({pool.name, pool.type, pool.count});
    return tres_text(counts);
  }
  counts.cpus = node.allocated_cpus;
  counts.memory_mib = node.allocated_memory_mib;
  for (const GresGrant& gres : node.allocated_gres) {
    counts.gres.push_back({gres.name, gres.type, static_cast<std::uint32_t>(gres.devices.count())});
  }
  return tres_text(counts);
}

}  // namespace

std::string node_record(const NodeView& node, const ShowContext& context, bool has_detail,
                        bool is_one_line) {
  const NodeConfig& config = node.config;
  const NodeStatus& status = node.status;
  Record record;
  record.add("NodeName", config.name);
  if (!status.arch.empty()) record.add("Arch", status.arch);
  record.add("CoresPerSocket", config.cores_per_socket);
  // No CPU is set aside for specialised use: all are effective.
  record.line()
      .add("CPUAlloc", node.allocated_cpus)
      .add("CPUEfctv", config.cpus)
      .add("CPUTot", config.cpus)
      .add("CPULoad", node_load(node));
  const std::string features = or_null(join(config.features, ","));
  record.line().add("AvailableFeatures", features);
  record.line().add("ActiveFeatures", features);
  record.line().add("Gres", or_null(node_gres(node)));
  // Used devices only with -d.
  if (has_detail) record.line().add("GresUsed", or_null(node_gres_used(node)));
  record.line().add("NodeAddr", config.address.empty() ? config.name : config.address);
  record.add("NodeHostName", config.host_name.empty() ? config.name : config.host_name);
  if (!status.version.empty()) record.add("Version", status.version);
  if (!status.os.empty()) record.line().add("OS", status.os);
  record.line().add("RealMemory", config.memory_mib).add("AllocMem", node.allocated_memory_mib);
  record.add("FreeMem",
             // N/A before the first report of the agent.
             node.last_contact.is_set() ? fmt::format("{}", node.free_memory_mib) : "N/A");
  record.add("Sockets", config.sockets).add("Boards", config.boards);
  record.line().add("State", node_state_flags(node)).add("ThreadsPerCore", config.threads_per_core);
  record.add("TmpDisk", config.tmp_disk_mib)
      .add("Weight", config.weight)
      .add("Owner", "N/A")
      .add("MCS_label", "N/A");
  record.line().add("Partitions", join(node.partitions, ","));
  record.line()
      .add("BootTime", context.time(status.boot_time, "None"))
      .add("SlurmdStartTime", context.time(status.agent_start_time, "None"));
  record.line()
      .add("LastBusyTime", context.time(status.last_busy_time, "Unknown"))
      .add("ResumeAfterTime", "None");
  record.line().add("CfgTRES", node_tres(node, false));
  record.line().add("AllocTRES", node_tres(node, true));
  // Power is not measured.
  record.line().add("CurrentWatts", "0").add("AveWatts", "0");
  if (!status.reason.empty()) {
    record.line().add(
        // Who set it and when: an administrator's question.
        "Reason", fmt::format("{} [{}@{}]", status.reason, user_name(status.reason_user.value()),
                              context.time(status.reason_time, "Unknown")));
  }
  if (!status.comment.empty()) record.line().add("Comment", status.comment);
  if (!status.extra.empty()) record.line().add("Extra", status.extra);
  return record.text(is_one_line);
}

// ---- partitions ----

namespace {

std::string names_or_all(const std::vector<std::string>& names) {
  return names.empty() ? "ALL" : join(names, ",");
}

void add_partition_memory(Record& record, std::string_view prefix, std::uint64_t per_cpu,
                          std::uint64_t per_node) {
  // Slurm shows one of the two keys.
  if (per_cpu != 0) {
    record.add(fmt::format("{}MemPerCPU", prefix), per_cpu);
  } else {
    record.add(fmt::format("{}MemPerNode", prefix), or_unlimited(per_node));
  }
}

std::string job_defaults(const PartitionConfig& config) {
  std::string text;
  if (config.default_cpus_per_gpu != 0)
    text += fmt::format("DefCpuPerGPU={}", config.default_cpus_per_gpu);
  if (config.default_memory_per_gpu_mib != 0)
    text += fmt::format("{}DefMemPerGPU={}", text.empty() ? "" : ",",
                        config.default_memory_per_gpu_mib);
  return or_null(text);
}

}  // namespace

std::string partition_record(const PartitionView& partition, bool is_one_line) {
  const PartitionConfig& config = partition.config;
  Record record;
  record.add("PartitionName", config.name);
  record.line().add("AllowGroups", names_or_all(config.allow_groups));
  // The two lists exclude each other.
  if (config.deny_accounts.empty()) {
    record.add("AllowAccounts", names_or_all(config.allow_accounts));
  } else {
    record.add("DenyAccounts", join(config.deny_accounts, ","));
  }
  record.add("AllowQos", names_or_all(config.allow_qos));
  record.line()
      .add("AllocNodes", "ALL")
      .add("Default", yes_no(config.is_default))
      .add("QoS", "N/A");
  record.line().add("DefaultTime",
                    config.default_time == Duration() ? "NONE" : padded(config.default_time));
  record.add("DisableRootJobs", "NO")
      .add("Exclusive", config.is_exclusive ? "NODE" : "NO")
      .add("GraceTime", "0")
      .add("Hidden", yes_no(config.is_hidden));
  record.line()
      .add("MaxNodes", or_unlimited(config.max_nodes))
      .add("MaxTime", padded(config.max_time));
  record.add("MinNodes", config.min_nodes).add("LLN", "NO");
  record.add("MaxCPUsPerNode", or_unlimited(config.max_cpus_per_node))
      .add("MaxCPUsPerSocket", "UNLIMITED");
  record.line().add("Nodes", or_null(sorted_hostlist(partition.nodes)));
  record.line()
      .add("PriorityJobFactor", config.priority_job_factor)
      .add("PriorityTier", config.priority_tier);
  record.add("RootOnly", yes_no(config.is_root_only))
      .add("ReqResv", "NO")
      .add("OverSubscribe", config.is_exclusive ? "EXCLUSIVE" : "NO");
  record.line().add("OverTimeLimit",
                    // Minutes in slurm.conf; below 0 stands for a value that was not set.
                    config.over_time_limit < Duration()
                        ? std::string("NONE")
                        : fmt::format("{}", config.over_time_limit.seconds() / 60));
  record.add("PreemptMode", "OFF");
  record.line()
      .add("State", partition_state_name(config.state))
      .add("TotalCPUs", partition.total_cpus);
  record.add("TotalNodes", partition.total_nodes).add("SelectTypeParameters", "NONE");
  record.line().add("JobDefaults", job_defaults(config));
  record.line();
  add_partition_memory(record, "Def", config.default_memory_per_cpu_mib,
                       config.default_memory_per_node_mib);
  add_partition_memory(record, "Max", config.max_memory_per_cpu_mib,
                       config.max_memory_per_node_mib);
  record.line().add("TRES", or_null(partition.tres));
  return record.text(is_one_line);
}

std::string config_text(const ClusterSettings& settings, const ShowContext& context) {
  std::string text =
      fmt::format("Configuration data as of {}\n", context.time(context.now, "Unknown"));
  for (const auto& [key, value] : settings.shown) {
    // A heading has no key.
    const bool is_heading = key.empty();
    text += is_heading ? fmt::format("\n{}\n", value) : fmt::format("{:<23} = {}\n", key, value);
  }
  return text;
}

}  // namespace muster::cli

// squeue's columns by letter and by name, with the headings of Slurm 22.05. Columns of what Muster
// has not show Slurm's word for it, so that formats which name them go on working.

#include "cli/slurm/squeue_columns.h"

#include "cli/lib/job_selector.h"
#include "cli/lib/job_text.h"
#include "slurm/duration_text.h"
#include "slurm/memory_text.h"

namespace muster::cli {
namespace {

using Job = JobView;
using Context = ShowContext;

template <JobText Key>
std::string text(const Job& job, const Context&) {
  return or_null(job.spec->get(Key));
}
/// As text, but blank where there is none: node lists.
template <JobText Key>
std::string list(const Job& job, const Context&) {
  return std::string(job.spec->get(Key));
}
template <auto Member>
std::string spec_number(const Job& job, const Context&) {
  return fmt::to_string(field_of(*job.spec, Member));
}
template <auto Member>
std::string spec_star(const Job& job, const Context&) {
  return or_star(static_cast<std::uint32_t>(field_of(*job.spec, Member)));
}
template <auto Member>
std::string spec_number_or_na(const Job& job, const Context&) {
  const auto value = field_of(*job.spec, Member);
  return value == 0 ? "N/A" : fmt::to_string(value);
}
template <auto Member>
std::string spec_flag(const Job& job, const Context&) {
  return field_of(*job.spec, Member) ? "1" : "0";
}
template <auto Member>
std::string number(const Job& job, const Context&) {
  return fmt::to_string(job.*Member);
}
template <auto Member>
std::int64_t as_number(const Job& job, const Context&) {
  return static_cast<std::int64_t>(job.*Member);
}
template <auto Member>
std::string time(const Job& job, const Context& context) {
  return context.time(job.*Member, "N/A");
}
template <auto Member>
std::int64_t time_number(const Job& job, const Context&) {
  return (job.*Member).microseconds();
}
template <JobText Key>
std::string gres(const Job& job, const Context&) {
  const std::string value = tres_per_text(job.spec->get(Key));
  return value.empty() ? "N/A" : value;
}
template <std::string Job::*Member>
std::string view_text(const Job& job, const Context&) {
  return or_null(job.*Member);
}

std::string null_text(const Job&, const Context&) { return "(null)"; }
std::string planned_nodes(const Job& job, const Context&) {
  return job.planned_node_list.empty() ? "(null)" : job.planned_node_list;
}
std::string not_available(const Job&, const Context&) { return "N/A"; }
std::string zero(const Job&, const Context&) { return "0"; }
std::string no(const Job&, const Context&) { return "no"; }

std::string id(const Job& job, const Context& context) {
  return job_id_text(job, context.array_text_max);
}
std::string raw_id(const Job& job, const Context&) { return fmt::to_string(job.id.value()); }
std::int64_t id_number(const Job& job, const Context&) { return job.id.value(); }
std::string array_id(const Job& job, const Context&) {
  return fmt::to_string((job.array_job.value() != 0 ? job.array_job : job.id).value());
}
std::string array_task(const Job& job, const Context& context) {
  if (job.array_index) return fmt::to_string(*job.array_index);
  if (job.array_job.value() == 0) return "N/A";
  const std::string whole = job_id_text(job, context.array_text_max);
  // What stands between the brackets: indices and throttle.
  return whole.substr(whole.find('[') + 1, whole.size() - whole.find('[') - 2);
}
std::string partition(const Job& job, const Context&) { return job.partition; }
std::string state(const Job& job, const Context&) {
  return std::string(shown_state_name(job.state, job.flags));
}
std::string state_code(const Job& job, const Context&) {
  return std::string(shown_state_code(job.state, job.flags));
}
std::int64_t state_number(const Job& job, const Context&) {
  return static_cast<std::int64_t>(job.state);
}
std::string user(const Job& job, const Context&) {
  const std::string_view name = job.spec->get(JobText::kUserName);
  return name.empty() ? fmt::to_string(job.spec->user.value()) : std::string(name);
}
std::string uid(const Job& job, const Context&) { return fmt::to_string(job.spec->user.value()); }
std::string gid(const Job& job, const Context&) { return fmt::to_string(job.spec->group.value()); }
std::string time_used(const Job& job, const Context& context) {
  return short_duration_text(run_time(job, context.now));
}
std::int64_t time_used_number(const Job& job, const Context& context) {
  return run_time(job, context.now).seconds();
}
std::string limit(const Job& job, const Context&) { return short_duration_text(job.time_limit); }
std::int64_t limit_number(const Job& job, const Context&) { return job.time_limit.seconds(); }
Duration left(const Job& job, const Context& context) {
  // Without a limit UNLIMITED shows, whatever has run.
  return job.time_limit.is_infinite() ? job.time_limit
                                      : job.time_limit - run_time(job, context.now);
}
std::string time_left(const Job& job, const Context& context) {
  return short_duration_text(left(job, context));
}
std::int64_t time_left_number(const Job& job, const Context& context) {
  return left(job, context).seconds();
}
std::string start(const Job& job, const Context& context) {
  return context.time(start_of(job), "N/A");
}
std::string end(const Job& job, const Context& context) { return context.time(end_of(job), "N/A"); }
std::int64_t end_number(const Job& job, const Context&) { return end_of(job).microseconds(); }
std::string eligible(const Job& job, const Context& context) {
  return context.time(eligible_of(job), "N/A");
}
std::int64_t eligible_number(const Job& job, const Context&) {
  return eligible_of(job).microseconds();
}
std::int64_t start_number(const Job& job, const Context&) {
  // A job without an expected start sorts behind those that have one.
  return start_of(job).is_set() ? start_of(job).microseconds() : TimePoint::never().microseconds();
}
std::string wait_time(const Job& job, const Context& context) {
  // Until it started, or until now.
  const TimePoint end =
      job.start_time.is_set() && job.state != JobState::kPending ? job.start_time : context.now;
  return fmt::to_string(std::max<std::int64_t>(0, (end - job.submit_time).seconds()));
}
std::string priority(const Job& job, const Context&) { return fmt::to_string(job.priority); }
std::string priority_ratio(const Job& job, const Context&) {
  // Slurm's ratio to the largest priority, 2^32 - 1.
  return fmt::format("{:.14f}", static_cast<double>(job.priority) / 4294967295.0);
}
std::string reason(const Job& job, const Context&) { return reason_word(job); }
std::string reason_list(const Job& job, const Context&) { return nodes_or_reason(job); }
std::string node_list(const Job& job, const Context&) { return job.node_list; }
std::string batch_host(const Job& job, const Context&) {
  // Small letters, as in Slurm.
  return job.batch_host.empty() ? "n/a" : job.batch_host;
}
std::string memory(const Job& job, const Context& context) {
  if (job.spec->request->memory_scope == MemoryScope::kDefault) {
    // Nothing was asked for: what it was given on each node.
    const std::uint64_t each = job.node_count == 0 ? 0 : job.memory_mib / job.node_count;
    return context.is_converted ? memory_text(each) : fmt::format("{}M", each);
  }
  return memory_asked(*job.spec, context.is_converted);
}
std::string tmp_disk(const Job& job, const Context& context) {
  return context.is_converted ? memory_text(job.spec->request->tmp_disk_mib)
                              : fmt::format("{}M", job.spec->request->tmp_disk_mib);
}
std::string min_cpus(const Job& job, const Context&) {
  return fmt::to_string(least_cpus_per_node(*job.spec));
}
std::string sharing(const Job& job, const Context&) {
  switch (job.spec->sharing) {
    case Sharing::kExclusive: return "NO";
    case Sharing::kShared: return "YES";
    case Sharing::kExclusiveUser: return "USER";
    case Sharing::kDefault: break;
  }
  return "OK";
}
std::string exclusive(const Job& job, const Context&) {
  return job.spec->sharing == Sharing::kExclusive ? "NODE" : "NO";
}
std::string shape(const Job& job, const Context&) {
  return fmt::format("{}:{}:{}", or_star(job.spec->request->sockets_per_node),
                     or_star(job.spec->request->cores_per_socket),
                     or_star(job.spec->request->threads_per_core));
}
std::string dependency(const Job& job, const Context&) { return or_null(job.dependency); }
std::string session(const Job& job, const Context&) {
  return fmt::format("{}:{}", job.spec->get(JobText::kSubmitHost), job.spec->submit_session);
}
std::string batch_flag(const Job& job, const Context&) {
  return job.spec->kind == JobKind::kBatch ? "1" : "0";
}
std::string exit_code(const Job& job, const Context&) { return fmt::to_string(job.exit.code()); }
std::string derived_exit(const Job& job, const Context&) {
  return fmt::to_string(job.derived_exit.code());
}
std::string cluster(const Job&, const Context& context) { return context.cluster; }
std::string restarts(const Job& job, const Context&) { return fmt::to_string(job.attempt); }
std::string max_nodes(const Job& job, const Context&) {
  return fmt::to_string(job.spec->request->max_nodes);
}
std::string tasks(const Job& job, const Context&) {
  return fmt::to_string(job.spec->request->task_count);
}
std::string tres(const Job& job, const Context&) {
  // Allocated, or as long as it waits what it asks for.
  return or_null(job.allocated_tres.empty() ? job.requested_tres : job.allocated_tres);
}
std::string cpus_per_gpu(const Job& job, const Context&) {
  return job.spec->request->cpus_per_gpu == 0
             ? "N/A"
             : fmt::format("gres/gpu:{}", job.spec->request->cpus_per_gpu);
}
std::string memory_per_gpu(const Job& job, const Context&) {
  return job.spec->request->memory_scope != MemoryScope::kPerGpu
             ? "N/A"
             : fmt::format("gres/gpu:{}", job.spec->request->memory_mib);
}
std::string deadline(const Job& job, const Context& context) {
  return context.time(job.spec->deadline, "N/A");
}
std::string system_comment(const Job& job, const Context&) { return or_null(job.detail); }
std::string runtime(const Job& job, const Context& context) {
  return fmt::to_string(run_time(job, context.now).seconds());
}

// How much of a job a column needs decides how much travels; without it a row is enough.
// clang-format off
constexpr QueryDetail kBrief = QueryDetail::kBrief;
constexpr QueryDetail kFull = QueryDetail::kFull;

constexpr Column<Job> kJobs[] = {
    {'a', "Account", "ACCOUNT", text<JobText::kAccount>},
    {0, "AccrueTime", "ACCRUE_TIME", eligible, eligible_number},
    {0, "admin_comment", "ADMIN_COMMENT", text<JobText::kAdminComment>, nullptr, kFull},
    {0, "AllocNodes", "ALLOC_NODES", text<JobText::kSubmitHost>, nullptr, kFull},
    {0, "AllocSID", "ALLOC_SID", session, nullptr, kFull},
    {'F', "ArrayJobID", "ARRAY_JOB_ID", array_id},
    {'K', "ArrayTaskID", "ARRAY_TASK_ID", array_task},
    {0, "AssocId", "ASSOC_ID", zero},
    {0, "BatchFlag", "BATCH_FLAG", batch_flag, nullptr, kBrief},
    {'B', "BatchHost", "EXEC_HOST", batch_host},
    {0, "BoardsPerNode", "BOARDS_PER_NODE", not_available},
    {0, "BurstBuffer", "BURST_BUFFER", null_text},
    {0, "BurstBufferState", "BURST_BUFFER_STATE", null_text},
    {0, "Cluster", "CLUSTER", cluster},
    {0, "ClusterFeature", "CLUSTER_FEATURES", null_text},
    {'o', "Command", "COMMAND", text<JobText::kCommand>, nullptr, kFull},
    {'k', "Comment", "COMMENT", text<JobText::kComment>, nullptr, kFull},
    {0, "Container", "CONTAINER", null_text},
    {0, "ContainerID", "CONTAINER_ID", null_text},
    {'O', "Contiguous", "CONTIGUOUS", spec_flag<&ResourceRequest::is_contiguous>, nullptr, kBrief},
    {'I', "Cores", "CORES_PER_SOCKET",
     spec_star<&ResourceRequest::cores_per_socket>, nullptr, kBrief},
    {'X', "CoreSpec", "CORE_SPEC", spec_number_or_na<&JobSpec::core_spec>, nullptr, kBrief},
    {0, "cpus-per-task", "CPUS_PER_TASK",
     spec_number_or_na<&ResourceRequest::cpus_per_task>, nullptr, kBrief},
    {0, "cpus-per-tres", "CPUS_PER_TRES", cpus_per_gpu, nullptr, kBrief},
    {0, "CronJob", "CRON_JOB", no},
    {0, "Deadline", "DEADLINE", deadline, nullptr, kBrief},
    {0, "DelayBoot", "DELAY_BOOT", zero},
    {'E', "Dependency", "DEPENDENCY", dependency},
    {0, "DerivedEC", "DERIVED_EC", derived_exit},
    {0, "EligibleTime", "ELIGIBLE_TIME", eligible, eligible_number},
    {'e', "EndTime", "END_TIME", end, end_number},
    {'x', "ExcNodes", "EXC_NODES", list<JobText::kExcludeList>, nullptr, kFull},
    {0, "Exclusive", "EXCLUSIVE", exclusive, nullptr, kBrief},
    {0, "exit_code", "EXIT_CODE", exit_code},
    {'f', "Feature", "FEATURES", text<JobText::kFeatures>, nullptr, kBrief},
    {'G', "GroupID", "GROUP", gid, nullptr, kBrief},
    {'g', "GroupName", "GROUP", text<JobText::kGroupName>, nullptr, kBrief},
    {0, "HetJobID", "HET_JOB_ID", not_available},
    {0, "HetJobIDSet", "HET_JOB_ID_SET", not_available},
    {0, "HetJobOffset", "HET_JOB_OFFSET", not_available},
    {'i', "JobArrayID", "JOBID", id, id_number},
    {'A', "JobID", "JOBID", raw_id, id_number},
    {0, "LastSchedEval", "LAST_SCHED_EVAL", not_available},
    {'W', "Licenses", "LICENSES", text<JobText::kLicenses>, nullptr, kBrief},
    {0, "LicensesAlloc", "LICENSES_ALLOC", null_text},
    {0, "MaxCPUs", "MAX_CPUS", zero},
    {0, "MaxNodes", "MAX_NODES", max_nodes, nullptr, kBrief},
    {0, "mem-per-tres", "MEM_PER_TRES", memory_per_gpu, nullptr, kBrief},
    {0, "MCSLabel", "MCSLABEL", text<JobText::kMcsLabel>, nullptr, kBrief},
    {'c', "MinCPUs", "MIN_CPUS", min_cpus, nullptr, kBrief},
    {'m', "MinMemory", "MIN_MEMORY", memory, nullptr, kBrief},
    {0, "MinTime", "TIME_MIN", not_available},
    {'d', "MinTmpDisk", "MIN_TMP_DISK", tmp_disk, nullptr, kBrief},
    {'j', "Name", "NAME", text<JobText::kName>},
    {0, "Network", "NETWORK", text<JobText::kNetwork>, nullptr, kBrief},
    {'y', "Nice", "NICE", spec_number<&JobSpec::nice>, nullptr, kBrief},
    {'N', "NodeList", "NODELIST", node_list},
    {0, "NTPerCore", "NTASKS_PER_CORE",
     spec_number_or_na<&JobSpec::tasks_per_core>, nullptr, kBrief},
    {0, "NTPerNode", "NTASKS_PER_NODE",
     spec_number<&ResourceRequest::tasks_per_node>, nullptr, kBrief},
    {0, "NTPerSocket", "NTASKS_PER_SOCKET",
     spec_number_or_na<&JobSpec::tasks_per_socket>, nullptr, kBrief},
    {0, "NTPerBoard", "NTASKS_PER_BOARD", not_available},
    {'C', "NumCPUs", "CPUS", number<&Job::cpu_count>, as_number<&Job::cpu_count>},
    {'D', "NumNodes", "NODES", number<&Job::node_count>, as_number<&Job::node_count>},
    {0, "NumTasks", "TASKS", tasks, nullptr, kBrief},
    {0, "Origin", "ORIGIN", null_text},
    {'h', "OverSubscribe", "OVER_SUBSCRIBE", sharing, nullptr, kBrief},
    {'P', "Partition", "PARTITION", partition},
    {0, "PendingTime", "PENDING_TIME", wait_time},
    {0, "PreemptTime", "PREEMPT_TIME", not_available},
    {0, "Prefer", "PREFER", text<JobText::kPrefer>, nullptr, kBrief},
    {'p', "Priority", "PRIORITY", priority_ratio, as_number<&Job::priority>},
    {'Q', "PriorityLong", "PRIORITY", priority, as_number<&Job::priority>},
    {0, "Profile", "PROFILE", null_text},
    {'q', "QOS", "QOS", text<JobText::kQos>},
    {'r', "Reason", "REASON", reason},
    {'R', "ReasonList", "NODELIST(REASON)", reason_list},
    {0, "Reboot", "REBOOT", spec_flag<&JobSpec::is_reboot>, nullptr, kBrief},
    {'n', "ReqNodes", "REQ_NODES", list<JobText::kNodeList>, nullptr, kFull},
    {0, "ReqSwitch", "REQ_SWITCH", zero},
    {0, "Requeue", "REQUEUE", spec_flag<&JobSpec::is_requeue>, nullptr, kBrief},
    {'v', "Reservation", "RESERVATION", text<JobText::kReservation>, nullptr, kBrief},
    {0, "ResizeTime", "RESIZE_TIME", not_available},
    {0, "RestartCnt", "RESTART_COUNT", restarts},
    {0, "Runtime", "RUNTIME", runtime},
    {'Y', "SchedNodes", "SCHEDNODES", planned_nodes},
    {'z', "SCT", "S:C:T", shape, nullptr, kBrief},
    {0, "SegmentSize", "SEGMENT_SIZE", zero},
    {'s', "SLUID", "SLUID", null_text},
    {'H', "Sockets", "SOCKETS_PER_NODE",
     spec_star<&ResourceRequest::sockets_per_node>, nullptr, kBrief},
    {'S', "StartTime", "START_TIME", start, start_number},
    {'T', "State", "STATE", state, state_number},
    {'t', "StateCompact", "ST", state_code, state_number},
    {0, "STDERR", "STDERR", view_text<&Job::std_err>, nullptr, kFull},
    {0, "STDIN", "STDIN", view_text<&Job::std_in>, nullptr, kFull},
    {0, "STDOUT", "STDOUT", view_text<&Job::std_out>, nullptr, kFull},
    {'V', "SubmitTime", "SUBMIT_TIME", time<&Job::submit_time>, time_number<&Job::submit_time>},
    {0, "system_comment", "SYSTEM_COMMENT", system_comment},
    {'J', "Threads", "THREADS_PER_CORE",
     spec_star<&ResourceRequest::threads_per_core>, nullptr, kBrief},
    {'L', "TimeLeft", "TIME_LEFT", time_left, time_left_number, {}, true},
    {'l', "TimeLimit", "TIME_LIMIT", limit, limit_number, {}, true},
    {'M', "TimeUsed", "TIME", time_used, time_used_number, {}, true},
    {0, "tres", "TRES_ALLOC", tres, nullptr, kFull},
    {0, "tres-alloc", "TRES_ALLOC", tres, nullptr, kFull},
    {0, "tres-bind", "TRES_BIND", text<JobText::kTresBind>, nullptr, kFull},
    {0, "tres-freq", "TRES_FREQ", text<JobText::kTresFreq>, nullptr, kFull},
    {0, "tres-per-job", "TRES_PER_JOB", gres<JobText::kGresPerJob>, nullptr, kBrief},
    {'b', "tres-per-node", "TRES_PER_NODE", gres<JobText::kGresPerNode>, nullptr, kBrief},
    {0, "tres-per-socket", "TRES_PER_SOCKET", gres<JobText::kGresPerSocket>, nullptr, kBrief},
    {0, "tres-per-task", "TRES_PER_TASK", gres<JobText::kGresPerTask>, nullptr, kBrief},
    {'U', "UserID", "UID", uid},
    {'u', "UserName", "USER", user},
    {0, "Wait4Switch", "WAIT4SWITCH", zero},
    {'w', "WCKey", "WCKEY", text<JobText::kWckey>, nullptr, kBrief},
    {'Z', "WorkDir", "WORK_DIR", text<JobText::kWorkDir>, nullptr, kFull},
    // Names of earlier versions.
    {0, "gres", "TRES_PER_NODE", gres<JobText::kGresPerNode>, nullptr, kBrief},
    {0, "Shared", "OVER_SUBSCRIBE", sharing, nullptr, kBrief},
    {0, "Nodes", "NODELIST", node_list},
};
// clang-format on

// ---- steps ----

using Step = StepView;

std::string step_id(const Step& step, const Context&) { return step_id_text(step); }
/// The batch script's step comes after those that it started.
/// Numbers of batch and other special steps are the highest.
std::int64_t step_id_number(const Step& step, const Context&) {
  return std::int64_t{step.id.job.value()} << 32 | step.id.step;
}
template <std::string Step::*Member>
std::string step_text(const Step& step, const Context&) {
  return or_null(step.*Member);
}
template <auto Member>
std::string step_number(const Step& step, const Context&) {
  return fmt::to_string(step.*Member);
}
std::string step_uid(const Step& step, const Context&) { return fmt::to_string(step.uid.value()); }
std::string step_used(const Step& step, const Context& context) {
  return short_duration_text(run_time(step, context.now));
}
std::string step_limit(const Step& step, const Context&) {
  return short_duration_text(step.time_limit);
}
std::string step_start(const Step& step, const Context& context) {
  return context.time(step.start_time, "N/A");
}
std::string step_state(const Step& step, const Context&) {
  return std::string(job_state_name(step.state));
}
std::string step_state_code(const Step& step, const Context&) {
  return std::string(job_state_code(step.state));
}
std::string step_gres(const Step& step, const Context&) {
  // Steps of long ago have no specification any more.
  const std::string gres =
      step.spec == nullptr ? "" : tres_per_text(step.spec->get(StepText::kGresPerNode));
  return gres.empty() ? "N/A" : gres;
}
std::string step_cluster(const Step&, const Context& context) { return context.cluster; }

constexpr Column<Step> kSteps[] = {
    {'A', "NumTasks", "TASKS", step_number<&Step::task_count>},
    {'b', "tres-per-node", "TRES_PER_NODE", step_gres},
    {0, "Cluster", "CLUSTER", step_cluster},
    {'C', "NumCPUs", "NUM_CPUS", step_number<&Step::cpu_count>},
    {'D', "NumNodes", "NODES", step_number<&Step::node_count>},
    {'i', "StepID", "STEPID", step_id, step_id_number},
    {'j', "StepName", "NAME", step_text<&Step::name>},
    {0, "Name", "NAME", step_text<&Step::name>},
    {'l', "TimeLimit", "TIME_LIMIT", step_limit, nullptr, {}, true},
    {'M', "TimeUsed", "TIME", step_used, nullptr, {}, true},
    {'N', "Nodes", "NODELIST", step_text<&Step::node_list>},
    {0, "NodeList", "NODELIST", step_text<&Step::node_list>},
    {'P', "Partition", "PARTITION", step_text<&Step::partition>},
    {'S', "StartTime", "START_TIME", step_start},
    {'T', "State", "STATE", step_state},
    {'t', "StepState", "STATE", step_state_code},
    {0, "tres-alloc", "TRES_ALLOC", step_text<&Step::allocated_tres>},
    {'U', "UserID", "UID", step_uid},
    {'u', "UserName", "USER", step_text<&Step::user>},
};

}  // namespace

std::span<const Column<JobView>> job_columns() { return kJobs; }
std::span<const Column<StepView>> step_columns() { return kSteps; }

}  // namespace muster::cli

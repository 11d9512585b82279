#include "records/model_records.h"

#include <array>
#include <bit>
#include <span>

#include "records/fields.h"
#include "records/request_fields.h"
#include "records/text_pack_codec.h"
#include "slurm/request_text.h"

namespace muster::records {

void write(schema::KeyValue::Builder builder, const TextPair& value) {
  builder.setKey(to_wire(value.first));
  builder.setValue(to_wire(value.second));
}
void read(schema::KeyValue::Reader reader, TextPair& value) {
  from_wire(reader.getKey(), value.first);
  from_wire(reader.getValue(), value.second);
}

#define ERROR_FIELDS(F, S, L, P, O) \
  F(code, Code) F(message, Message) F(detail, Detail) F(cause, Cause)
RECORD(Error, schema::Error, ERROR_FIELDS)

#define STEP_ID_FIELDS(F, S, L, P, O) F(job, Job) F(attempt, Attempt) F(step, Step)
RECORD(StepId, schema::StepId, STEP_ID_FIELDS)

#define GRES_GRANT_FIELDS(F, S, L, P, O) F(name, Name) F(type, Type) F(devices, Devices)
RECORD(GresGrant, schema::GresGrant, GRES_GRANT_FIELDS)

// clang-format off
#define NODE_GRANT_FIELDS(F, S, L, P, O) \
  F(node, Node) F(task_count, TaskCount) F(cpus, Cpus) F(memory_mib, MemoryMib) L(gres, Gres)
// clang-format on
RECORD(NodeGrant, schema::NodeGrant, NODE_GRANT_FIELDS)

// clang-format off
#define USAGE_FIELDS(F, S, L, P, O) \
  F(user_cpu_us, UserCpuUs) F(system_cpu_us, SystemCpuUs) F(max_rss_kib, MaxRssKib)
// clang-format on
RECORD(Usage, schema::Usage, USAGE_FIELDS)

// clang-format off
#define STEP_PART_FIELDS(F, S, L, P, O) \
  F(step, Step) F(exit, Exit) S(usage, Usage) F(detail, Detail)
// clang-format on
RECORD(StepPart, schema::StepPart, STEP_PART_FIELDS)

#define GRES_AMOUNT_FIELDS(F, S, L, P, O) F(name, Name) F(type, Type) F(count, Count)
RECORD(GresAmount, schema::GresAmount, GRES_AMOUNT_FIELDS)

void write(schema::FeatureAlternative::Builder builder, const std::vector<std::string>& value) {
  write_list(builder.initAll(static_cast<unsigned>(value.size())), value);
}
void read(schema::FeatureAlternative::Reader reader, std::vector<std::string>& value) {
  read_list(reader.getAll(), value);
}

// What of a request its job's texts say; the numbers are the job's own fields.
// clang-format off
#define PARSED_REQUEST_FIELDS(F, S, L, P, O) \
  L(gres_per_node, GresPerNode) L(gres_per_job, GresPerJob) L(gres_per_task, GresPerTask) \
  L(features.alternatives, Features) L(preferred.alternatives, Preferred) \
  L(required_nodes, RequiredNodes) L(excluded_nodes, ExcludedNodes)
// clang-format on
RECORD(ResourceRequest, schema::ParsedRequest, PARSED_REQUEST_FIELDS)

bool has_lists(const ResourceRequest& request) {
  return !request.gres_per_node.empty() || !request.gres_per_job.empty() ||
         !request.gres_per_task.empty() || !request.features.alternatives.empty() ||
         !request.preferred.alternatives.empty() || !request.required_nodes.empty() ||
         !request.excluded_nodes.empty();
}

// clang-format off
#define JOB_SPEC_FIELDS(F, S, L, P, O) \
  JOB_REQUEST_FIELDS(F, S, L, P, O) F(user, User) F(group, Group) F(script, Script) \
  F(environment, Environment) F(trial, Trial) F(runs_before, RunsBefore) \
  F(asked.cpus_per_task, AskedCpusPerTask) F(asked.min_cpus_per_node, AskedMinCpusPerNode) \
  F(asked.memory_scope, AskedMemoryScope) F(asked.memory_mib, AskedMemoryMib)
// clang-format on
void write_numbers(schema::JobSpec::Builder builder, const ResourceRequest& value) {
  RESOURCE_NUMBER_FIELDS(MUSTER_WRITE_F, MUSTER_WRITE_S, MUSTER_WRITE_L, MUSTER_WRITE_P,
                         MUSTER_WRITE_O)
}
void read_numbers(schema::JobSpec::Reader reader, ResourceRequest& value) {
  RESOURCE_NUMBER_FIELDS(MUSTER_READ_F, MUSTER_READ_S, MUSTER_READ_L, MUSTER_READ_P, MUSTER_READ_O)
}
void write(schema::JobSpec::Builder builder, const JobSpec& value, std::uint64_t texts) {
  if ((value.text.mask() & ~texts) == 0) {
    write(builder.initText(), value.text);
  } else {
    write(builder.initText(), value.text.only(texts));
  }
  JOB_SPEC_FIELDS(MUSTER_WRITE_F, MUSTER_WRITE_S, MUSTER_WRITE_L, MUSTER_WRITE_P, MUSTER_WRITE_O)
  const ResourceRequest& request = *value.request;
  write_numbers(builder, request);
  if (asks_by_text(value) || has_lists(request)) write(builder.initParsed(), request);
}
void write(schema::JobSpec::Builder builder, const JobSpec& value) { write(builder, value, ~0ULL); }
void read(schema::JobSpec::Reader reader, JobSpec& value) {
  read(reader.getText(), value.text);
  JOB_SPEC_FIELDS(MUSTER_READ_F, MUSTER_READ_S, MUSTER_READ_L, MUSTER_READ_P, MUSTER_READ_O)
  ResourceRequest request;
  read_numbers(reader, request);
  if (reader.hasParsed()) read(reader.getParsed(), request);
  value.request = std::move(request);
  if (!reader.hasParsed() && asks_by_text(value)) {
    // Written before requests were recorded: its texts were let in, so that they can be read.
    KJ_REQUIRE(parse_request(value).has_value(), "a job's request cannot be read");
  }
}

#define STEP_SPEC_FIELDS(F, S, L, P, O) \
  S(text, Text) STEP_REQUEST_FIELDS(F, S, L, P, O) F(environment, Environment)
RECORD(StepSpec, schema::StepSpec, STEP_SPEC_FIELDS)

#define GRES_POOL_FIELDS(F, S, L, P, O) F(name, Name) F(type, Type) F(count, Count) L(files, Files)
RECORD(GresPool, schema::GresPool, GRES_POOL_FIELDS)

// clang-format off
#define NODE_CONFIG_FIELDS(F, S, L, P, O) \
  F(name, Name) F(host_name, HostName) F(address, Address) F(port, Port) F(cpus, Cpus) \
  F(boards, Boards) F(sockets, Sockets) F(cores_per_socket, CoresPerSocket) \
  F(threads_per_core, ThreadsPerCore) F(memory_mib, MemoryMib) F(tmp_disk_mib, TmpDiskMib) \
  F(weight, Weight) L(gres, Gres) L(features, Features)
// clang-format on
RECORD(NodeConfig, schema::NodeConfig, NODE_CONFIG_FIELDS)

// clang-format off
#define NODE_STATUS_FIELDS(F, S, L, P, O) \
  F(conditions, Conditions) F(reason, Reason) F(reason_user, ReasonUser) \
  F(reason_time, ReasonTime) F(boot_id, BootId) F(boot_time, BootTime) \
  F(agent_start_time, AgentStartTime) F(version, Version) F(arch, Arch) F(os, Os) \
  F(comment, Comment) F(extra, Extra) F(last_busy_time, LastBusyTime) F(machine_id, MachineId) \
  F(fault, Fault) F(shortfall, Shortfall)
// clang-format on
RECORD(NodeStatus, schema::NodeStatus, NODE_STATUS_FIELDS)

// clang-format off
#define PARTITION_CONFIG_FIELDS(F, S, L, P, O) \
  F(name, Name) F(nodes_text, NodesText) L(nodes, Nodes) F(is_default, IsDefault) \
  F(is_hidden, IsHidden) F(is_root_only, IsRootOnly) F(state, State) F(max_time, MaxTime) \
  F(default_time, DefaultTime) F(over_time_limit, OverTimeLimit) F(min_nodes, MinNodes) \
  F(max_nodes, MaxNodes) F(max_cpus_per_node, MaxCpusPerNode) F(priority_tier, PriorityTier) \
  F(priority_job_factor, PriorityJobFactor) F(default_memory_per_cpu_mib, DefaultMemoryPerCpuMib) \
  F(default_memory_per_node_mib, DefaultMemoryPerNodeMib) \
  F(default_memory_per_gpu_mib, DefaultMemoryPerGpuMib) \
  F(max_memory_per_cpu_mib, MaxMemoryPerCpuMib) F(max_memory_per_node_mib, MaxMemoryPerNodeMib) \
  F(default_cpus_per_gpu, DefaultCpusPerGpu) F(is_exclusive, IsExclusive) \
  L(allow_groups, AllowGroups) L(allow_accounts, AllowAccounts) L(deny_accounts, DenyAccounts) \
  L(allow_qos, AllowQos)
// clang-format on
RECORD(PartitionConfig, schema::PartitionConfig, PARTITION_CONFIG_FIELDS)

// clang-format off
#define CLUSTER_SETTINGS_FIELDS(F, S, L, P, O) \
  F(cluster_name, ClusterName) F(controller_host, ControllerHost) F(kill_wait, KillWait) \
  F(min_job_age, MinJobAge) F(slurmd_timeout, SlurmdTimeout) F(over_time_limit, OverTimeLimit) \
  F(requeue_delay, RequeueDelay) F(max_job_count, MaxJobCount) F(max_array_size, MaxArraySize) \
  F(max_step_count, MaxStepCount) F(max_tasks_per_node, MaxTasksPerNode) \
  F(max_batch_requeue, MaxBatchRequeue) F(first_job_id, FirstJobId) \
  F(max_script_size, MaxScriptSize) F(default_memory_per_cpu_mib, DefaultMemoryPerCpuMib) \
  F(default_memory_per_node_mib, DefaultMemoryPerNodeMib) \
  F(default_memory_per_gpu_mib, DefaultMemoryPerGpuMib) \
  F(max_memory_per_cpu_mib, MaxMemoryPerCpuMib) F(max_memory_per_node_mib, MaxMemoryPerNodeMib) \
  F(is_job_requeue, IsJobRequeue) F(is_job_file_append, IsJobFileAppend) \
  F(is_enforce_part_limits, IsEnforcePartLimits) F(is_memory_consumable, IsMemoryConsumable) \
  F(is_core_consumable, IsCoreConsumable) F(return_to_service, ReturnToService) \
  F(kill_on_bad_exit, KillOnBadExit) L(requeue_exit, RequeueExit) \
  L(requeue_exit_hold, RequeueExitHold) L(gres_types, GresTypes) F(mail_program, MailProgram) \
  L(shown, Shown) F(log_retention_days, LogRetentionDays) F(resize_interval, ResizeInterval) \
  F(launch_timeout, LaunchTimeout) F(is_backfill, IsBackfill) \
  F(backfill_windows, BackfillWindows) F(backfill_depth, BackfillDepth) \
  F(backfill_interval, BackfillInterval)
// clang-format on
RECORD(ClusterSettings, schema::ClusterSettings, CLUSTER_SETTINGS_FIELDS)

// clang-format off
#define CLUSTER_CONFIG_FIELDS(F, S, L, P, O) \
  S(settings, Settings) L(nodes, Nodes) L(partitions, Partitions)
// clang-format on
RECORD(ClusterConfig, schema::ClusterConfig, CLUSTER_CONFIG_FIELDS)

// clang-format off
#define REASON_DETAIL_FIELDS(F, S, L, P, O) \
  F(reason, Reason) F(constraint, Constraint) F(wanted, Wanted) F(found, Found) \
  L(blocking_jobs, BlockingJobs) L(nodes, Nodes)
// clang-format on
RECORD(ReasonDetail, schema::ReasonDetail, REASON_DETAIL_FIELDS)

// clang-format off
#define REASONS_FIELDS(F, S, L, P, O) \
  F(word, Word) L(details, Details) F(expected_start, ExpectedStart) \
  L(planned_nodes, PlannedNodes)
// clang-format on
RECORD(Reasons, schema::Reasons, REASONS_FIELDS)

#define ARRAY_SPEC_FIELDS(F, S, L, P, O) F(indices, Indices) F(throttle, Throttle)
RECORD(ArraySpec, schema::ArraySpec, ARRAY_SPEC_FIELDS)

// clang-format off
#define ARRAY_RANGE_FIELDS(F, S, L, P, O) \
  F(task_count, TaskCount) F(index_min, IndexMin) F(index_max, IndexMax) F(index_step, IndexStep)
// clang-format on
RECORD(ArrayRange, schema::ArrayRange, ARRAY_RANGE_FIELDS)

// clang-format off
#define DEPENDENCY_TERM_FIELDS(F, S, L, P, O) \
  F(kind, Kind) F(job, Job) O(array_index, ArrayIndex) F(delay, Delay) F(state, State) \
  F(not_before, NotBefore)
// clang-format on
RECORD(DependencyTerm, schema::DependencyTerm, DEPENDENCY_TERM_FIELDS)

#define DEPENDENCY_SET_FIELDS(F, S, L, P, O) F(is_any, IsAny) L(terms, Terms)
RECORD(DependencySet, schema::DependencySet, DEPENDENCY_SET_FIELDS)

// clang-format off
#define JOB_SELECTOR_FIELDS(F, S, L, P, O) \
  F(job, Job) F(indices, Indices) F(is_element, IsElement) O(step, Step)
// clang-format on
RECORD(JobSelector, schema::JobSelector, JOB_SELECTOR_FIELDS)

#define JOB_OUTCOME_FIELDS(F, S, L, P, O) S(job, Job) P(error, Error)
RECORD(JobOutcome, schema::JobOutcome, JOB_OUTCOME_FIELDS)

#define EXPERIMENT_OUTCOME_FIELDS(F, S, L, P, O) F(experiment, Experiment) P(error, Error)
RECORD(ExperimentOutcome, schema::ExperimentOutcome, EXPERIMENT_OUTCOME_FIELDS)

// clang-format off
#define CHECKPOINT_RETENTION_FIELDS(F, S, L, P, O) \
  F(experiment_best, ExperimentBest) F(trial_best, TrialBest) F(trial_latest, TrialLatest)
// clang-format on
RECORD(CheckpointRetention, schema::CheckpointRetention, CHECKPOINT_RETENTION_FIELDS)

#define EXPERIMENT_SHARE_FIELDS(F, S, L, P, O) F(priority, Priority) F(weight, Weight)
RECORD(ExperimentShare, schema::ExperimentShare, EXPERIMENT_SHARE_FIELDS)

#define EXPERIMENT_BUDGET_FIELDS(F, S, L, P, O) F(slot_time, SlotTime) F(wall_time, WallTime)
RECORD(ExperimentBudget, schema::ExperimentBudget, EXPERIMENT_BUDGET_FIELDS)

// clang-format off
#define COLLECTION_FIELDS(F, S, L, P, O) \
  F(job, Job) F(experiment, Experiment) F(is_whole, IsWhole) L(uuids, Uuids)
// clang-format on
RECORD(Collection, schema::Collection, COLLECTION_FIELDS)

// clang-format off
#define EXPERIMENT_SPEC_FIELDS(F, S, L, P, O) \
  F(user, User) F(user_name, UserName) F(config, Config) F(original, Original) \
  F(searcher, Searcher) F(metric, Metric) F(smaller_is_better, SmallerIsBetter) \
  F(time_metric, TimeMetric) F(slots_per_trial, SlotsPerTrial) F(max_restarts, MaxRestarts) \
  F(preemption_timeout, PreemptionTimeout) F(trial_length, TrialLength) F(seed, Seed) \
  F(entrypoint, Entrypoint) F(run_folder, RunFolder) P(job, Job) F(parent, Parent) \
  F(source_checkpoint, SourceCheckpoint) S(retention, Retention) S(share, Share) \
  S(budget, Budget) O(log_retention_days, LogRetentionDays) \
  F(min_slots_per_trial, MinSlotsPerTrial) F(imported_from, ImportedFrom)
// clang-format on
RECORD(ExperimentSpec, schema::ExperimentSpec, EXPERIMENT_SPEC_FIELDS)

// clang-format off
#define EXPERIMENT_LABELS_FIELDS(F, S, L, P, O) \
  F(name, Name) F(description, Description) F(notes, Notes) L(labels, Labels) \
  F(workspace, Workspace) F(project, Project) F(is_archived, IsArchived) \
  F(visibility, Visibility)
// clang-format on
RECORD(ExperimentLabels, schema::ExperimentLabels, EXPERIMENT_LABELS_FIELDS)

// clang-format off
#define SEARCH_OPERATION_FIELDS(F, S, L, P, O) \
  F(verb, Verb) F(request, Request) F(hparams, Hparams) F(source, Source) F(length, Length) \
  F(outcome, Outcome) F(progress, Progress)
// clang-format on
RECORD(SearchOperation, schema::SearchOperation, SEARCH_OPERATION_FIELDS)

#define OPERATIONS_INPUT_FIELDS(F, S, L, P, O) F(trigger, Trigger) L(operations, Operations)
RECORD(OperationsInput, schema::OperationsInput, OPERATIONS_INPUT_FIELDS)

// clang-format off
#define IMPORTED_TRIAL_FIELDS(F, S, L, P, O) \
  F(id, Id) F(experiment, Experiment) F(imported_from, ImportedFrom) F(seed, Seed) \
  F(hparams, Hparams) F(state, State) F(restarts, Restarts) F(last_run, LastRun) \
  O(metric, Metric) F(units, Units) F(submit_time, SubmitTime) F(end_time, EndTime)
// clang-format on
RECORD(ImportedTrial, schema::ImportedTrial, IMPORTED_TRIAL_FIELDS)

// clang-format off
#define IMPORTED_EXPERIMENT_FIELDS(F, S, L, P, O) \
  F(id, Id) P(spec, Spec) S(labels, Labels) F(state, State) F(submit_time, SubmitTime) \
  F(end_time, EndTime)
// clang-format on
RECORD(ImportedExperiment, schema::ImportedExperiment, IMPORTED_EXPERIMENT_FIELDS)

// clang-format off
#define LOG_MATCH_FIELDS(F, S, L, P, O) \
  F(run, Run) F(policy, Policy) F(action, Action) F(node, Node) F(line, Line)
// clang-format on
RECORD(LogMatch, schema::LogMatch, LOG_MATCH_FIELDS)

// clang-format off
#define CHECKPOINT_FIELDS(F, S, L, P, O) \
  F(uuid, Uuid) F(trial, Trial) F(run, Run) F(steps_completed, StepsCompleted) F(state, State) \
  F(report_time, ReportTime) F(size, Size) F(metadata, Metadata) F(resources, Resources)
// clang-format on
RECORD(Checkpoint, schema::Checkpoint, CHECKPOINT_FIELDS)

// clang-format off
#define DOCUMENT_FIELDS(F, S, L, P, O) \
  F(kind, Kind) F(id, Id) F(parent, Parent) F(number, Number) F(name, Name) F(user, User) \
  F(user_name, UserName) F(create_time, CreateTime) F(change_time, ChangeTime) \
  F(is_archived, IsArchived) F(body, Body) L(checkpoints, Checkpoints)
// clang-format on
RECORD(Document, schema::Document, DOCUMENT_FIELDS)

// clang-format off
#define STOP_REASON_FIELDS(F, S, L, P, O) \
  F(cause, Cause) F(bracket, Bracket) F(rung, Rung) F(rank, Rank) F(cut, Cut) F(count, Count)
// clang-format on
RECORD(StopReason, schema::StopReason, STOP_REASON_FIELDS)

#define STOP_ORDER_FIELDS(F, S, L, P, O) F(call, Call) F(deadline, Deadline)
RECORD(StopOrder, schema::StopOrder, STOP_ORDER_FIELDS)

#define TRIAL_REPORT_FIELDS(F, S, L, P, O) F(metric, Metric) F(time, Time)
RECORD(TrialReport, schema::TrialReport, TRIAL_REPORT_FIELDS)

// clang-format off
#define REPLY_FIELDS(F, S, L, P, O) \
  P(error, Error) F(job, Job) P(step, Step) L(outcomes, Outcomes) L(warnings, Warnings) \
  F(is_started, IsStarted) F(expected_start, ExpectedStart) F(text, Text) \
  F(experiment, Experiment) L(experiments, Experiments) F(document, Document) F(trial, Trial)
// clang-format on
RECORD(Reply, schema::Reply, REPLY_FIELDS)

}  // namespace muster::records

#include "records/wire_records.h"

namespace muster::records {
// Declared before the templates that call it.
DECLARE_RECORD(NamedNumber, schema::NamedNumber)
DECLARE_RECORD(LogStreamId, schema::LogStreamId)
DECLARE_RECORD(LogFilter, schema::LogFilter)
DECLARE_RECORD(LogLine, schema::LogLine)
DECLARE_RECORD(TaskFile, schema::TaskFile)
DECLARE_RECORD(TaskBind, schema::TaskBind)
DECLARE_RECORD(JobSpec, schema::JobRequest)
DECLARE_RECORD(StepSpec, schema::StepRequest)
DECLARE_RECORD(Document, schema::DocumentRequest)
}  // namespace muster::records

#include <array>
#include <cstring>

#include "records/fields.h"
#include "records/request_fields.h"
#include "records/text_pack_codec.h"

namespace muster::records {

// clang-format off
#define JOB_FILTER_FIELDS(F, S, L, P, O) \
  L(jobs, Jobs) L(users, Users) L(uids, Uids) L(names, Names) L(accounts, Accounts) \
  L(partitions, Partitions) L(qos, Qos) L(wckeys, Wckeys) L(reservations, Reservations) \
  L(licenses, Licenses) L(nodes, Nodes) L(states, States) F(is_active_only, IsActiveOnly)
// clang-format on
RECORD(JobFilter, schema::JobFilter, JOB_FILTER_FIELDS)

#define NAMED_NUMBER_FIELDS(F, S, L, P, O) F(name, Name) F(value, Value)
RECORD(NamedNumber, schema::NamedNumber, NAMED_NUMBER_FIELDS)

// clang-format off
#define LOG_STREAM_ID_FIELDS(F, S, L, P, O) \
  F(owner.kind, OwnerKind) F(owner.id, Owner) F(run, Run) F(rank, Rank) F(stream, Stream) \
  F(source, Source)
// clang-format on
RECORD(LogStreamId, schema::LogStreamId, LOG_STREAM_ID_FIELDS)

// clang-format off
#define LOG_FILTER_FIELDS(F, S, L, P, O) \
  L(ranks, Ranks) L(runs, Runs) L(streams, Streams) L(levels, Levels) F(first_time, FirstTime) \
  F(last_time, LastTime) F(text, Text) F(is_regex, IsRegex) F(is_case_ignored, IsCaseIgnored)
// clang-format on
RECORD(LogFilter, schema::LogFilter, LOG_FILTER_FIELDS)

// clang-format off
#define LOG_QUERY_FIELDS(F, S, L, P, O) \
  F(owner.kind, OwnerKind) F(owner.id, Owner) S(filter, Filter) F(from, From) \
  F(is_backward, IsBackward) F(lines_max, LinesMax) F(bytes_max, BytesMax)
// clang-format on
RECORD(LogQuery, schema::LogQuery, LOG_QUERY_FIELDS)

// clang-format off
#define LOG_LINE_FIELDS(F, S, L, P, O) \
  F(id, Id) F(run, Run) F(rank, Rank) F(stream, Stream) F(level, Level) \
  F(is_continuation, IsContinuation) F(is_marker, IsMarker) F(time, Time) F(text, Text)
// clang-format on
RECORD(LogLine, schema::LogLine, LOG_LINE_FIELDS)

#define LOG_PAGE_FIELDS(F, S, L, P, O) L(lines, Lines) F(next, Next) F(is_end, IsEnd)
RECORD(LogPage, schema::LogPage, LOG_PAGE_FIELDS)

namespace {
constexpr std::uint64_t bit_of(JobText key) {
  return std::uint64_t{1} << static_cast<unsigned>(key);
}
void write_numbers(schema::JobRequest::Builder builder, const ResourceRequest& value) {
  RESOURCE_NUMBER_FIELDS(MUSTER_WRITE_F, MUSTER_WRITE_S, MUSTER_WRITE_L, MUSTER_WRITE_P,
                         MUSTER_WRITE_O)
}
void read_numbers(schema::JobRequest::Reader reader, ResourceRequest& value) {
  RESOURCE_NUMBER_FIELDS(MUSTER_READ_F, MUSTER_READ_S, MUSTER_READ_L, MUSTER_READ_P, MUSTER_READ_O)
}
/// The texts of a job that its submitter may set.
constexpr std::uint64_t kRequestTexts =
    ~(bit_of(JobText::kUserName) | bit_of(JobText::kGroupName) | bit_of(JobText::kAdminComment));
}  // namespace

void write(schema::JobRequest::Builder builder, const JobSpec& value) {
  write(builder.initText(), value.text.only(kRequestTexts));
  JOB_REQUEST_FIELDS(MUSTER_WRITE_F, MUSTER_WRITE_S, MUSTER_WRITE_L, MUSTER_WRITE_P, MUSTER_WRITE_O)
  write_numbers(builder, *value.request);
}
void read(schema::JobRequest::Reader reader, JobSpec& value) {
  read(reader.getText(), value.text);
  KJ_REQUIRE((value.text.mask() & ~kRequestTexts) == 0,
             "names of users and administrators' comments are the controller's to set");
  JOB_REQUEST_FIELDS(MUSTER_READ_F, MUSTER_READ_S, MUSTER_READ_L, MUSTER_READ_P, MUSTER_READ_O)
  ResourceRequest request;
  read_numbers(reader, request);
  value.request = std::move(request);
}

#define STEP_REQUEST_AND_TEXT(F, S, L, P, O) S(text, Text) STEP_REQUEST_FIELDS(F, S, L, P, O)
RECORD(StepSpec, schema::StepRequest, STEP_REQUEST_AND_TEXT)

// clang-format off
#define DOCUMENT_REQUEST_FIELDS(F, S, L, P, O) \
  F(kind, Kind) F(id, Id) F(parent, Parent) F(number, Number) F(name, Name) \
  F(is_archived, IsArchived) F(body, Body) L(checkpoints, Checkpoints)
// clang-format on
RECORD(Document, schema::DocumentRequest, DOCUMENT_REQUEST_FIELDS)

#define TASK_FILE_FIELDS(F, S, L, P, O) F(path, Path) F(text, Text)
RECORD(TaskFile, schema::TaskFile, TASK_FILE_FIELDS)

// clang-format off
#define TASK_BIND_FIELDS(F, S, L, P, O) \
  F(source, Source) F(target, Target) F(is_read_only, IsReadOnly)
// clang-format on
RECORD(TaskBind, schema::TaskBind, TASK_BIND_FIELDS)

namespace {

using records::read;
using records::write;

// clang-format off
#define SUBMIT_JOB_FIELDS(F, S, L, P, O) \
  P(spec, Spec) F(script, Script) F(environment, Environment) P(first_step, FirstStep) \
  F(is_test_only, IsTestOnly)
// clang-format on
RECORD(SubmitJob, schema::SubmitJob, SUBMIT_JOB_FIELDS)

// clang-format off
#define CANCEL_JOBS_FIELDS(F, S, L, P, O) \
  S(filter, Filter) F(signal, Signal) F(batch_only, BatchOnly) F(full, Full) \
  F(is_lenient, IsLenient) F(asked_from, AskedFrom)
// clang-format on
RECORD(CancelJobs, schema::CancelJobs, CANCEL_JOBS_FIELDS)

#define CONTROL_JOBS_FIELDS(F, S, L, P, O) F(verb, Verb) L(jobs, Jobs) F(asked_from, AskedFrom)
RECORD(ControlJobs, schema::ControlJobs, CONTROL_JOBS_FIELDS)

#define UPDATE_OBJECT_FIELDS(F, S, L, P, O) F(kind, Kind) F(name, Name) L(values, Values)
RECORD(UpdateObject, schema::UpdateObject, UPDATE_OBJECT_FIELDS)

#define CREATE_STEP_FIELDS(F, S, L, P, O) F(job, Job) P(spec, Spec) F(environment, Environment)
RECORD(CreateStep, schema::CreateStep, CREATE_STEP_FIELDS)

#define RELEASE_ALLOCATION_FIELDS(F, S, L, P, O) F(job, Job) F(attempt, Attempt) F(exit, Exit)
RECORD(ReleaseAllocation, schema::ReleaseAllocation, RELEASE_ALLOCATION_FIELDS)

#define RENEW_LEASE_FIELDS(F, S, L, P, O) F(job, Job)
RECORD(RenewLease, schema::RenewLease, RENEW_LEASE_FIELDS)

// clang-format off
#define CANCEL_STEP_FIELDS(F, S, L, P, O) \
  S(step, Step) F(signal, Signal) F(asked_from, AskedFrom) F(launch_key, LaunchKey)
// clang-format on
RECORD(CancelStep, schema::CancelStep, CANCEL_STEP_FIELDS)

// clang-format off
#define CREATE_EXPERIMENT_FIELDS(F, S, L, P, O) \
  F(config, Config) F(original, Original) P(job, Job) F(context, Context) \
  F(environment, Environment) F(is_paused, IsPaused) F(parent, Parent)
// clang-format on
RECORD(CreateExperiment, schema::CreateExperiment, CREATE_EXPERIMENT_FIELDS)

#define CONTINUE_EXPERIMENT_FIELDS(F, S, L, P, O) F(experiment, Experiment) F(overrides, Overrides)
RECORD(ContinueExperiment, schema::ContinueExperiment, CONTINUE_EXPERIMENT_FIELDS)

#define DELETE_CHECKPOINTS_FIELDS(F, S, L, P, O) L(uuids, Uuids)
RECORD(DeleteCheckpoints, schema::DeleteCheckpoints, DELETE_CHECKPOINTS_FIELDS)

#define CONTROL_EXPERIMENTS_FIELDS(F, S, L, P, O) F(verb, Verb) L(experiments, Experiments)
RECORD(ControlExperiments, schema::ControlExperiments, CONTROL_EXPERIMENTS_FIELDS)

// clang-format off
#define UPDATE_EXPERIMENT_FIELDS(F, S, L, P, O) \
  F(experiment, Experiment) O(name, Name) O(description, Description) O(notes, Notes) \
  O(workspace, Workspace) O(project, Project) O(max_concurrent, MaxConcurrent) \
  L(add_labels, AddLabels) L(remove_labels, RemoveLabels) P(retention, Retention) \
  O(priority, Priority) O(weight, Weight) O(max_slots, MaxSlots) O(visibility, Visibility)
// clang-format on
RECORD(UpdateExperiment, schema::UpdateExperiment, UPDATE_EXPERIMENT_FIELDS)

// clang-format off
#define REPORT_TRIAL_FIELDS(F, S, L, P, O) \
  F(trial, Trial) F(run, Run) F(steps, Steps) L(metrics, Metrics)
// clang-format on
RECORD(ReportTrial, schema::ReportTrial, REPORT_TRIAL_FIELDS)

#define FLAG_TRIAL_FIELDS(F, S, L, P, O) F(trial, Trial) F(run, Run)
RECORD(FlagTrial, schema::FlagTrial, FLAG_TRIAL_FIELDS)

#define STORE_DOCUMENT_FIELDS(F, S, L, P, O) S(document, Document)
RECORD(StoreDocument, schema::StoreDocument, STORE_DOCUMENT_FIELDS)

#define DELETE_DOCUMENT_FIELDS(F, S, L, P, O) F(kind, Kind) F(id, Id)
RECORD(DeleteDocument, schema::DeleteDocument, DELETE_DOCUMENT_FIELDS)

// clang-format off
#define SET_LOG_RETENTION_FIELDS(F, S, L, P, O) \
  F(experiment, Experiment) F(trial, Trial) F(days, Days)
// clang-format on
RECORD(SetLogRetention, schema::SetLogRetention, SET_LOG_RETENTION_FIELDS)

// Agent messages.
// clang-format off
#define LAUNCH_STEP_FIELDS(F, S, L, P, O) \
  S(id, Id) P(job, Job) P(step, Step) F(script, Script) F(environment, Environment) \
  F(cluster_name, ClusterName) F(node_name, NodeName) F(node_rank, NodeRank) \
  F(job_node_rank, JobNodeRank) F(job_node_list, JobNodeList) L(job_cpus, JobCpus) \
  L(job_tasks, JobTasks) F(step_node_list, StepNodeList) L(step_tasks, StepTasks) \
  S(job_grant, JobGrant) S(step_grant, StepGrant) L(pools, Pools) F(partition, Partition) \
  F(start_time, StartTime) F(end_time, EndTime) F(array_job, ArrayJob) F(array_index, ArrayIndex) \
  S(array, Array) F(restart_count, RestartCount) F(kill_wait, KillWait) \
  F(is_file_append, IsFileAppend) F(kill_on_bad_exit, KillOnBadExit) L(variables, Variables) \
  L(private_folders, PrivateFolders) L(files, Files) L(binds, Binds) F(cluster_id, ClusterId) \
  F(epoch, Epoch) F(time_left, TimeLeft) F(launch_key, LaunchKey)
// clang-format on
RECORD(LaunchStep, schema::LaunchStep, LAUNCH_STEP_FIELDS)

// clang-format off
#define SIGNAL_STEP_FIELDS(F, S, L, P, O) \
  S(id, Id) F(signal, Signal) F(batch_only, BatchOnly) F(launch_key, LaunchKey)
// clang-format on
RECORD(SignalStep, schema::SignalStep, SIGNAL_STEP_FIELDS)

// clang-format off
#define TERMINATE_JOB_FIELDS(F, S, L, P, O) \
  F(job, Job) F(attempt, Attempt) F(cause, Cause) F(kill_wait, KillWait)
// clang-format on
RECORD(TerminateJob, schema::TerminateJob, TERMINATE_JOB_FIELDS)

#define SUSPEND_JOB_FIELDS(F, S, L, P, O) F(job, Job) F(attempt, Attempt) F(is_suspend, IsSuspend)
RECORD(SuspendJob, schema::SuspendJob, SUSPEND_JOB_FIELDS)

// clang-format off
#define STOP_STEP_FIELDS(F, S, L, P, O) \
  S(id, Id) F(call, Call) F(deadline, Deadline) F(signal, Signal)
// clang-format on
RECORD(StopStep, schema::StopStep, STOP_STEP_FIELDS)

#define ACKNOWLEDGE_STEP_FIELDS(F, S, L, P, O) S(id, Id) F(launch_key, LaunchKey)
RECORD(AcknowledgeStep, schema::AcknowledgeStep, ACKNOWLEDGE_STEP_FIELDS)
RECORD(EndStep, schema::EndStep, ACKNOWLEDGE_STEP_FIELDS)

#define STEP_RUNNING_FIELDS(F, S, L, P, O) S(id, Id) F(launch_key, LaunchKey)
RECORD(StepRunning, schema::StepRunning, STEP_RUNNING_FIELDS)

#define JOB_ATTEMPT_FIELDS(F, S, L, P, O) F(job, Job) F(attempt, Attempt)
RECORD(ForgetJob, schema::ForgetJob, JOB_ATTEMPT_FIELDS)
RECORD(JobClean, schema::JobClean, JOB_ATTEMPT_FIELDS)

// clang-format off
#define OUTPUT_RECEIVED_FIELDS(F, S, L, P, O) \
  S(stream, Stream) F(next_offset, NextOffset) F(is_end, IsEnd)
// clang-format on
RECORD(OutputReceived, schema::OutputReceived, OUTPUT_RECEIVED_FIELDS)

// clang-format off
#define OUTPUT_SENT_FIELDS(F, S, L, P, O) \
  F(fragment.offset, Offset) F(fragment.bytes, Bytes) F(fragment.received_time, ReceivedTime) \
  F(fragment.is_end, IsEnd)
// clang-format on
void write(schema::OutputSent::Builder builder, const OutputSent& value) {
  write(builder.initStream(), value.fragment.id());
  OUTPUT_SENT_FIELDS(MUSTER_WRITE_F, MUSTER_WRITE_S, MUSTER_WRITE_L, MUSTER_WRITE_P, MUSTER_WRITE_O)
}
void read(schema::OutputSent::Reader reader, OutputSent& value) {
  LogStreamId id;
  read(reader.getStream(), id);
  value.fragment.owner = id.owner;
  value.fragment.run = id.run;
  value.fragment.rank = id.rank;
  value.fragment.stream = id.stream;
  value.fragment.source = id.source;
  OUTPUT_SENT_FIELDS(MUSTER_READ_F, MUSTER_READ_S, MUSTER_READ_L, MUSTER_READ_P, MUSTER_READ_O)
}

// clang-format off
#define CHANGE_END_FIELDS(F, S, L, P, O) \
  F(job, Job) F(attempt, Attempt) F(end_time, EndTime) F(time_left, TimeLeft)
// clang-format on
RECORD(ChangeEnd, schema::ChangeEnd, CHANGE_END_FIELDS)

}  // namespace

#define KNOWN_STEP_FIELDS(F, S, L, P, O) S(id, Id) F(phase, Phase) F(launch_key, LaunchKey)
RECORD(KnownStep, schema::KnownStep, KNOWN_STEP_FIELDS)

namespace {

using records::read;
using records::write;

void write(schema::FindSteps::Builder builder, const FindSteps& value) {
  auto steps = builder.initSteps(static_cast<unsigned>(value.steps.size()));
  for (unsigned i = 0; i < value.steps.size(); ++i) write(steps[i], value.steps[i]);
}
void read(schema::FindSteps::Reader reader, FindSteps& value) {
  require_sized(reader.getSteps());
  for (const auto step : reader.getSteps()) read(step, value.steps.emplace_back());
}

// clang-format off
#define REGISTER_NODE_FIELDS(F, S, L, P, O) \
  F(node_name, NodeName) F(boot_id, BootId) F(boot_time, BootTime) \
  F(agent_start_time, AgentStartTime) F(version, Version) F(arch, Arch) F(os, Os) F(cpus, Cpus) \
  F(sockets, Sockets) F(cores_per_socket, CoresPerSocket) F(threads_per_core, ThreadsPerCore) \
  F(memory_mib, MemoryMib) L(gres, Gres) F(cluster_id, ClusterId) F(epoch, Epoch) \
  F(job_floor, JobFloor) F(agent_id, AgentId) F(machine_id, MachineId) \
  F(has_lost_records, HasLostRecords) F(known_damage, KnownDamage) F(protocol, Protocol)
// clang-format on
void write(schema::RegisterNode::Builder builder, const RegisterNode& value) {
  REGISTER_NODE_FIELDS(MUSTER_WRITE_F, MUSTER_WRITE_S, MUSTER_WRITE_L, MUSTER_WRITE_P,
                       MUSTER_WRITE_O)
  auto steps = builder.initSteps(static_cast<unsigned>(value.steps.size()));
  for (unsigned i = 0; i < value.steps.size(); ++i) write(steps[i], value.steps[i]);
}
void read(schema::RegisterNode::Reader reader, RegisterNode& value) {
  REGISTER_NODE_FIELDS(MUSTER_READ_F, MUSTER_READ_S, MUSTER_READ_L, MUSTER_READ_P, MUSTER_READ_O)
  require_sized(reader.getSteps());
  for (const auto step : reader.getSteps()) read(step, value.steps.emplace_back());
}

// clang-format off
#define HEARTBEAT_FIELDS(F, S, L, P, O) \
  F(load_hundredths, LoadHundredths) F(free_memory_mib, FreeMemoryMib) F(fault, Fault)
// clang-format on
RECORD(Heartbeat, schema::Heartbeat, HEARTBEAT_FIELDS)

// clang-format off
#define STEP_DONE_FIELDS(F, S, L, P, O) \
  S(id, Id) F(node_rank, NodeRank) L(tasks, Tasks) S(usage, Usage) \
  F(is_out_of_memory, IsOutOfMemory) F(is_lost, IsLost) F(error, Error) \
  F(is_node_fault, IsNodeFault) F(is_timeout, IsTimeout) F(launch_key, LaunchKey) \
  F(may_pass, MayPass)
// clang-format on
RECORD(StepDone, schema::StepDone, STEP_DONE_FIELDS)

// One struct per alternative of a union: X(Type, ENUMERATOR).
// clang-format off
#define REQUESTS(X)                                                                               \
  X(SubmitJob, SUBMIT_JOB) X(CancelJobs, CANCEL_JOBS) X(ControlJobs, CONTROL_JOBS)                \
  X(UpdateObject, UPDATE_OBJECT) X(CreateStep, CREATE_STEP)                                       \
  X(ReleaseAllocation, RELEASE_ALLOCATION) X(RenewLease, RENEW_LEASE) X(CancelStep, CANCEL_STEP)  \
  X(CreateExperiment, CREATE_EXPERIMENT) X(ControlExperiments, CONTROL_EXPERIMENTS)               \
  X(UpdateExperiment, UPDATE_EXPERIMENT) X(ReportTrial, REPORT_TRIAL) X(FlagTrial, FLAG_TRIAL)    \
  X(StoreDocument, STORE_DOCUMENT) X(DeleteDocument, DELETE_DOCUMENT)                             \
  X(ContinueExperiment, CONTINUE_EXPERIMENT) X(DeleteCheckpoints, DELETE_CHECKPOINTS)             \
  X(SetLogRetention, SET_LOG_RETENTION)
#define TO_AGENT(X)                                                                               \
  X(LaunchStep, LAUNCH_STEP) X(SignalStep, SIGNAL_STEP) X(TerminateJob, TERMINATE_JOB)            \
  X(SuspendJob, SUSPEND_JOB) X(AcknowledgeStep, ACKNOWLEDGE_STEP) X(ForgetJob, FORGET_JOB)        \
  X(ChangeEnd, CHANGE_END) X(StopStep, STOP_STEP) X(OutputReceived, OUTPUT_RECEIVED) \
  X(FindSteps, FIND_STEPS) X(EndStep, END_STEP)
#define FROM_AGENT(X)                                                                             \
  X(RegisterNode, REGISTER_NODE) X(Heartbeat, HEARTBEAT) X(StepRunning, STEP_RUNNING)             \
  X(StepDone, STEP_DONE) X(JobClean, JOB_CLEAN) X(OutputSent, OUTPUT_SENT)

#define WRITE_ALTERNATIVE(Type, WHICH) \
  void operator()(const Type& body) { write(builder.init##Type(), body); }
// clang-format on
struct RequestWriter {
  schema::Request::Builder builder;
  REQUESTS(WRITE_ALTERNATIVE)
  void operator()(const Reconfigure&) { builder.setReconfigure(); }
  template <class Other>
  void operator()(const Other&) {
    static_assert(kIsAskedOverHttpAlone<Other>);
    KJ_FAIL_REQUIRE("this is asked for over HTTP alone");
  }
};
struct ToAgentWriter {
  schema::AgentMessage::Builder builder;
  TO_AGENT(WRITE_ALTERNATIVE)
};
struct FromAgentWriter {
  schema::AgentMessage::Builder builder;
  FROM_AGENT(WRITE_ALTERNATIVE)
};

}  // namespace

void write(schema::Request::Builder builder, const Request& value) {
  visit(RequestWriter{builder}, value);
}
void write(schema::AgentMessage::Builder builder, const ToAgent& value) {
  visit(ToAgentWriter{builder}, value);
}
void write(schema::AgentMessage::Builder builder, const FromAgent& value) {
  visit(FromAgentWriter{builder}, value);
}

// clang-format off
#define READ_ALTERNATIVE(Schema, Type, WHICH)      \
  case schema::Schema::WHICH:                      \
    read(reader.get##Type(), value.emplace<Type>()); \
    return;
// clang-format on
#define READ_REQUEST(Type, WHICH) READ_ALTERNATIVE(Request, Type, WHICH)
#define READ_MESSAGE(Type, WHICH) READ_ALTERNATIVE(AgentMessage, Type, WHICH)

void read(schema::Request::Reader reader, Request& value) {
  switch (reader.which()) {
    REQUESTS(READ_REQUEST)
    case schema::Request::RECONFIGURE: value.emplace<Reconfigure>(); return;
    default:
      KJ_FAIL_REQUIRE(
          "request of an unknown kind: client and controller are of different versions");
  }
}
void read(schema::AgentMessage::Reader reader, ToAgent& value) {
  switch (reader.which()) {
    TO_AGENT(READ_MESSAGE)
    default: KJ_FAIL_REQUIRE("message of an unknown kind: the controller is newer than the agent");
  }
}
void read(schema::AgentMessage::Reader reader, FromAgent& value) {
  switch (reader.which()) {
    FROM_AGENT(READ_MESSAGE)
    default: KJ_FAIL_REQUIRE("message of an unknown kind: the agent is newer than the controller");
  }
}

// clang-format off
#define QUERY_FIELDS(F, S, L, P, O) \
  F(kind, Kind) F(detail, Detail) S(filter, Filter) F(since, Since) F(until, Until) \
  F(is_duplicates, IsDuplicates) F(is_steps, IsSteps) L(experiments, Experiments) \
  L(trials, Trials) L(uuids, Uuids) F(document_kind, DocumentKind) L(documents, Documents)
// clang-format on
RECORD(Query, schema::Query, QUERY_FIELDS)

// clang-format off
#define JOB_VIEW_FIELDS(F, S, L, P, O) \
  F(id, Id) F(attempt, Attempt) F(state, State) F(flags, Flags) S(reasons, Reasons) \
  F(priority, Priority) F(partition, Partition) F(time_limit, TimeLimit) \
  F(submit_time, SubmitTime) F(eligible_time, EligibleTime) F(start_time, StartTime) \
  F(end_time, EndTime) F(suspend_time, SuspendTime) F(suspended_before, SuspendedBefore) \
  F(exit, Exit) F(derived_exit, DerivedExit) F(cancelled_by, CancelledBy) F(detail, Detail) \
  F(array_job, ArrayJob) O(array_index, ArrayIndex) F(array_remaining, ArrayRemaining) \
  F(array_throttle, ArrayThrottle) F(array_remaining_count, ArrayRemainingCount) \
  F(dependency, Dependency) F(node_list, NodeList) F(batch_host, BatchHost) \
  F(node_count, NodeCount) F(cpu_count, CpuCount) F(memory_mib, MemoryMib) L(grants, Grants) \
  L(node_names, NodeNames) F(requested_tres, RequestedTres) F(allocated_tres, AllocatedTres) \
  F(std_out, StdOut) F(std_err, StdErr) F(std_in, StdIn) S(usage, Usage) \
  F(planned_node_list, PlannedNodeList)
// clang-format on
void write(schema::JobView::Builder builder, const JobView& value, std::uint64_t texts) {
  JOB_VIEW_FIELDS(MUSTER_WRITE_F, MUSTER_WRITE_S, MUSTER_WRITE_L, MUSTER_WRITE_P, MUSTER_WRITE_O)
  if (value.spec != nullptr) write(builder.initSpec(), *value.spec, texts);
}
void write(schema::JobView::Builder builder, const JobView& value) { write(builder, value, ~0ULL); }
void read(schema::JobView::Reader reader, JobView& value) {
  JOB_VIEW_FIELDS(MUSTER_READ_F, MUSTER_READ_S, MUSTER_READ_L, MUSTER_READ_P, MUSTER_READ_O)
  if (reader.hasSpec()) read_into(reader.getSpec(), value.spec);
}

// clang-format off
#define JOB_ROW_FIELDS(F, S, L, P, O) \
  F(id, Id) F(attempt, Attempt) F(state, State) F(flags, Flags) F(priority, Priority) \
  F(partition, Partition) F(time_limit, TimeLimit) F(submit_time, SubmitTime) \
  F(eligible_time, EligibleTime) F(start_time, StartTime) F(end_time, EndTime) \
  F(array_job, ArrayJob) O(array_index, ArrayIndex) F(array_remaining_count, ArrayRemainingCount) \
  F(node_list, NodeList) F(node_count, NodeCount) F(cpu_count, CpuCount) F(exit, Exit)
#define JOB_ROW_MORE_FIELDS(F, S, L, P, O) \
  F(suspend_time, SuspendTime) F(suspended_before, SuspendedBefore) F(derived_exit, DerivedExit) \
  F(cancelled_by, CancelledBy) F(detail, Detail) F(array_remaining, ArrayRemaining) \
  F(array_throttle, ArrayThrottle) F(dependency, Dependency) \
  F(planned_node_list, PlannedNodeList) F(batch_host, BatchHost)
// clang-format on
namespace {

void write(schema::JobRow::More::Builder builder, const JobView& value) {
  JOB_ROW_MORE_FIELDS(MUSTER_WRITE_F, MUSTER_WRITE_S, MUSTER_WRITE_L, MUSTER_WRITE_P,
                      MUSTER_WRITE_O)
}
void read(schema::JobRow::More::Reader reader, JobView& value) {
  JOB_ROW_MORE_FIELDS(MUSTER_READ_F, MUSTER_READ_S, MUSTER_READ_L, MUSTER_READ_P, MUSTER_READ_O)
}
bool has_more(const JobView& job) {
  return job.suspend_time.is_set() || job.suspended_before != Duration() ||
         job.derived_exit != ExitStatus() || job.cancelled_by != UserId() ||
         job.array_throttle != 0 || !job.detail.empty() || !job.array_remaining.empty() ||
         !job.dependency.empty() || !job.planned_node_list.empty() || !job.batch_host.empty();
}

/// The specification's texts in a row, each with its field.
#define JOB_ROW_TEXTS(X) X(kName, Name) X(kUserName, UserName) X(kAccount, Account) X(kQos, Qos)

}  // namespace

void write(schema::JobRow::Builder builder, const JobView& value) {
  JOB_ROW_FIELDS(MUSTER_WRITE_F, MUSTER_WRITE_S, MUSTER_WRITE_L, MUSTER_WRITE_P, MUSTER_WRITE_O)
  builder.setReason(to_wire(value.reasons.word));
  builder.setExpectedStart(to_wire(value.reasons.expected_start));
  builder.setUser(to_wire(value.spec->user));
// clang-format off
#define WRITE_TEXT(Key, Name) \
  if (const std::string_view text = value.spec->get(JobText::Key); !text.empty()) { \
    const auto size = static_cast<unsigned>(text.size()); \
    std::memcpy(builder.init##Name(size).begin(), text.data(), text.size()); \
  }
  // clang-format on
  JOB_ROW_TEXTS(WRITE_TEXT)
#undef WRITE_TEXT
  if (has_more(value)) write(builder.initMore(), value);
}
void read(schema::JobRow::Reader reader, JobView& value) {
  JOB_ROW_FIELDS(MUSTER_READ_F, MUSTER_READ_S, MUSTER_READ_L, MUSTER_READ_P, MUSTER_READ_O)
  from_wire(reader.getReason(), value.reasons.word);
  from_wire(reader.getExpectedStart(), value.reasons.expected_start);
  auto spec = std::make_shared<JobSpec>();
  from_wire(reader.getUser(), spec->user);
  std::array<std::string_view, TextPack<JobText>::kSize> texts{};
#define READ_TEXT(Key, Name)                                                   \
  texts[static_cast<std::size_t>(JobText::Key)] = {reader.get##Name().begin(), \
                                                   reader.get##Name().size()};
  JOB_ROW_TEXTS(READ_TEXT)
#undef READ_TEXT
  spec->text = TextPack<JobText>::of(texts);
  value.spec = std::move(spec);
  if (reader.hasMore()) read(reader.getMore(), value);
}

// clang-format off
#define STEP_VIEW_FIELDS(F, S, L, P, O) \
  S(id, Id) P(spec, Spec) F(name, Name) F(user, User) F(partition, Partition) F(account, Account) \
  F(uid, Uid) F(array_job, ArrayJob) O(array_index, ArrayIndex) F(state, State) \
  F(start_time, StartTime) F(end_time, EndTime) F(time_limit, TimeLimit) F(exit, Exit) \
  F(cancelled_by, CancelledBy) F(node_list, NodeList) F(node_count, NodeCount) \
  F(task_count, TaskCount) F(cpu_count, CpuCount) F(allocated_tres, AllocatedTres) \
  S(usage, Usage) F(detail, Detail) F(launch_key, LaunchKey)
// clang-format on
RECORD(StepView, schema::StepView, STEP_VIEW_FIELDS)

// clang-format off
#define NODE_VIEW_FIELDS(F, S, L, P, O) \
  S(config, Config) S(status, Status) F(allocated_cpus, AllocatedCpus) \
  F(allocated_memory_mib, AllocatedMemoryMib) L(allocated_gres, AllocatedGres) \
  F(is_completing, IsCompleting) F(load_hundredths, LoadHundredths) \
  F(free_memory_mib, FreeMemoryMib) F(last_contact, LastContact) L(partitions, Partitions) \
  F(is_planned, IsPlanned)
// clang-format on
RECORD(NodeView, schema::NodeView, NODE_VIEW_FIELDS)

// clang-format off
#define PARTITION_VIEW_FIELDS(F, S, L, P, O) \
  S(config, Config) L(nodes, Nodes) F(total_cpus, TotalCpus) F(total_nodes, TotalNodes) \
  F(tres, Tres)
// clang-format on
RECORD(PartitionView, schema::PartitionView, PARTITION_VIEW_FIELDS)

// clang-format off
#define PING_VIEW_FIELDS(F, S, L, P, O) \
  F(host, Host) F(version, Version) F(is_ready, IsReady) F(seq, Seq) F(state_hash, StateHash) \
  F(epoch, Epoch) F(http_address, HttpAddress) F(cluster_id, ClusterId) L(warnings, Warnings)
// clang-format on
RECORD(PingView, schema::PingView, PING_VIEW_FIELDS)

namespace {

// clang-format off
#define TRIAL_COUNTS_FIELDS(F, S, L, P, O) \
  F(queued, Queued) F(running, Running) F(waiting, Waiting) F(completed, Completed) \
  F(canceled, Canceled) F(errored, Errored)
// clang-format on
RECORD(TrialCounts, schema::TrialCounts, TRIAL_COUNTS_FIELDS)

}  // namespace

// clang-format off
#define EXPERIMENT_VIEW_FIELDS(F, S, L, P, O) \
  F(id, Id) P(spec, Spec) S(labels, Labels) F(state, State) F(submit_time, SubmitTime) \
  F(end_time, EndTime) F(progress, Progress) S(trials, Trials) F(best_trial, BestTrial) \
  F(best_metric, BestMetric) F(detail, Detail) S(retention, Retention) S(share, Share) \
  F(used_slot_time, UsedSlotTime) O(max_slots, MaxSlots)
// clang-format on
RECORD(ExperimentView, schema::ExperimentView, EXPERIMENT_VIEW_FIELDS)

// clang-format off
#define TRIAL_VIEW_FIELDS(F, S, L, P, O) \
  F(id, Id) F(experiment, Experiment) F(index, Index) F(job, Job) F(state, State) \
  F(job_state, JobState) F(job_reason, JobReason) F(runs, Runs) F(restarts, Restarts) \
  F(seed, Seed) F(bracket, Bracket) F(hparams, Hparams) O(target, Target) \
  F(is_waiting, IsWaiting) P(stop, Stop) O(stopping, Stopping) O(metric, Metric) F(units, Units) \
  F(submit_time, SubmitTime) F(start_time, StartTime) F(end_time, EndTime) F(detail, Detail) \
  F(folder, Folder) F(latest_checkpoint, LatestCheckpoint) F(checkpoint_bytes, CheckpointBytes) \
  F(checkpoints, Checkpoints) F(source, Source) L(log_matches, LogMatches) \
  F(log_retention_days, LogRetentionDays) F(slots, Slots) O(best_metric, BestMetric)
// clang-format on
RECORD(TrialView, schema::TrialView, TRIAL_VIEW_FIELDS)

}  // namespace muster::records

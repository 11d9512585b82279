#include "records/event_records.h"

namespace muster::records {
// Declared before the templates that call them.
DECLARE_RECORD(TrialPlan, schema::TrialPlan)
DECLARE_RECORD(TrialAwait, schema::TrialAwait)
DECLARE_RECORD(StopTrial, schema::StopTrial)
DECLARE_RECORD(ContinueTrial, schema::ContinueTrial)
DECLARE_RECORD(TrialAgain, schema::TrialAgain)
DECLARE_RECORD(SearchInput, schema::SearchInput)
}  // namespace muster::records

#include "records/fields.h"

namespace muster::records {

// clang-format off
#define TRIAL_PLAN_FIELDS(F, S, L, P, O) \
  F(trial, Trial) F(seed, Seed) F(bracket, Bracket) F(hparams, Hparams) O(target, Target) \
  O(clone_of, CloneOf) F(source, Source) F(awaits_source, AwaitsSource)
// clang-format on
RECORD(TrialPlan, schema::TrialPlan, TRIAL_PLAN_FIELDS)

#define TRIAL_AWAIT_FIELDS(F, S, L, P, O) F(trial, Trial) O(units, Units)
RECORD(TrialAwait, schema::TrialAwait, TRIAL_AWAIT_FIELDS)

#define STOP_TRIAL_FIELDS(F, S, L, P, O) F(trial, Trial) S(reason, Reason)
RECORD(StopTrial, schema::StopTrial, STOP_TRIAL_FIELDS)

#define CONTINUE_TRIAL_FIELDS(F, S, L, P, O) F(trial, Trial) F(target, Target)
RECORD(ContinueTrial, schema::ContinueTrial, CONTINUE_TRIAL_FIELDS)

#define TRIAL_AGAIN_FIELDS(F, S, L, P, O) F(id, Id) F(trial, Trial) F(was, Was)
RECORD(TrialAgain, schema::TrialAgain, TRIAL_AGAIN_FIELDS)

namespace {

using records::read;
using records::write;

// An allocation or layout is stored as the list of its nodes.
template <class Holder>
void write_nodes(capnp::List<schema::NodeGrant>::Builder list,
                 const std::shared_ptr<const Holder>& holder) {
  write_list(list, holder->nodes);
}
template <class Holder>
void read_nodes(capnp::List<schema::NodeGrant>::Reader list,
                std::shared_ptr<const Holder>& holder) {
  auto fresh = std::make_shared<Holder>();
  read_list(list, fresh->nodes);
  holder = std::move(fresh);
}

#define EPOCH_STARTED_FIELDS(F, S, L, P, O) F(epoch, Epoch) F(cluster_id, ClusterId) F(rules, Rules)
RECORD(EpochStarted, schema::EpochStarted, EPOCH_STARTED_FIELDS)

#define CLOCK_STEPPED_FIELDS(F, S, L, P, O) F(by, By)
RECORD(ClockStepped, schema::ClockStepped, CLOCK_STEPPED_FIELDS)

#define JOB_IDS_RESERVED_FIELDS(F, S, L, P, O) F(next, Next)
RECORD(JobIdsReserved, schema::JobIdsReserved, JOB_IDS_RESERVED_FIELDS)

#define CONFIG_APPLIED_FIELDS(F, S, L, P, O) P(config, Config)
RECORD(ConfigApplied, schema::ConfigApplied, CONFIG_APPLIED_FIELDS)

// clang-format off
#define NODE_REGISTERED_FIELDS(F, S, L, P, O) \
  F(node, Node) F(boot_id, BootId) F(boot_time, BootTime) F(agent_start_time, AgentStartTime) \
  F(version, Version) F(arch, Arch) F(os, Os) F(set_conditions, SetConditions) \
  F(clear_conditions, ClearConditions) F(reason, Reason) F(machine_id, MachineId) \
  F(shortfall, Shortfall)
// clang-format on
RECORD(NodeRegistered, schema::NodeRegistered, NODE_REGISTERED_FIELDS)

void write(schema::NodeChanged::Builder builder, const NodeChanged& value) {
  builder.setNode(to_wire(value.node));
  builder.setSetConditions(value.set_conditions);
  builder.setClearConditions(value.clear_conditions);
  builder.setUser(to_wire(value.user));
  MUSTER_WRITE_O(reason, Reason)
  MUSTER_WRITE_O(weight, Weight)
  MUSTER_WRITE_O(comment, Comment)
  MUSTER_WRITE_O(extra, Extra)
  MUSTER_WRITE_O(fault, Fault)
  if (value.features) {
    builder.setHasFeatures(true);
    write_list(builder.initFeatures(static_cast<unsigned>(value.features->size())),
               *value.features);
  }
}
void read(schema::NodeChanged::Reader reader, NodeChanged& value) {
  from_wire(reader.getNode(), value.node);
  value.set_conditions = reader.getSetConditions();
  value.clear_conditions = reader.getClearConditions();
  from_wire(reader.getUser(), value.user);
  MUSTER_READ_O(reason, Reason)
  MUSTER_READ_O(weight, Weight)
  MUSTER_READ_O(comment, Comment)
  MUSTER_READ_O(extra, Extra)
  MUSTER_READ_O(fault, Fault)
  if (reader.getHasFeatures()) read_list(reader.getFeatures(), value.features.emplace());
}

#define PARTITION_CHANGED_FIELDS(F, S, L, P, O) F(partition, Partition) S(config, Config)
RECORD(PartitionChanged, schema::PartitionChanged, PARTITION_CHANGED_FIELDS)

// clang-format off
#define JOB_SUBMITTED_FIELDS(F, S, L, P, O) \
  F(job, Job) P(spec, Spec) F(priority, Priority) F(flags, Flags) L(partitions, Partitions) \
  F(time_limit, TimeLimit) P(array, Array) S(dependencies, Dependencies) P(first_step, FirstStep) \
  F(reason, Reason)
// clang-format on
RECORD(JobSubmitted, schema::JobSubmitted, JOB_SUBMITTED_FIELDS)

#define ARRAY_SPLIT_FIELDS(F, S, L, P, O) F(array, Array) F(index, Index) F(element, Element)
RECORD(ArraySplit, schema::ArraySplit, ARRAY_SPLIT_FIELDS)

void write(schema::JobStarted::Builder builder, const JobStarted& value) {
  builder.setJob(to_wire(value.job));
  builder.setPartition(to_wire(value.partition));
  builder.setTimeLimit(to_wire(value.time_limit));
  builder.setRunKey(value.run_key);
  write_nodes(builder.initAllocation(static_cast<unsigned>(value.allocation->nodes.size())),
              value.allocation);
}
void read(schema::JobStarted::Reader reader, JobStarted& value) {
  from_wire(reader.getJob(), value.job);
  from_wire(reader.getPartition(), value.partition);
  from_wire(reader.getTimeLimit(), value.time_limit);
  value.run_key = reader.getRunKey();
  read_nodes(reader.getAllocation(), value.allocation);
}

// clang-format off
#define JOB_ENDING_FIELDS(F, S, L, P, O) \
  F(job, Job) F(state, State) F(reason, Reason) F(exit, Exit) F(by, By) F(detail, Detail) \
  F(is_clean, IsClean) F(requeue_after, RequeueAfter) F(hold_after, HoldAfter) \
  F(is_restart, IsRestart) F(is_early, IsEarly)
// clang-format on
RECORD(JobEnding, schema::JobEnding, JOB_ENDING_FIELDS)

#define NODE_RELEASED_FIELDS(F, S, L, P, O) F(job, Job) F(node, Node) L(parts, Parts)
RECORD(NodeReleased, schema::NodeReleased, NODE_RELEASED_FIELDS)

// clang-format off
#define JOB_REQUEUED_FIELDS(F, S, L, P, O) \
  F(job, Job) F(eligible_time, EligibleTime) F(flags, Flags)
// clang-format on
RECORD(JobRequeued, schema::JobRequeued, JOB_REQUEUED_FIELDS)

// clang-format off
#define JOB_CHANGED_FIELDS(F, S, L, P, O) \
  F(job, Job) P(spec, Spec) O(priority, Priority) O(time_limit, TimeLimit) \
  O(eligible_time, EligibleTime) O(flags, Flags) P(dependencies, Dependencies) \
  O(array_throttle, ArrayThrottle) O(reason, Reason) P(array, Array) F(is_warned, IsWarned)
// clang-format on
void write(schema::JobChanged::Builder builder, const JobChanged& value) {
  JOB_CHANGED_FIELDS(MUSTER_WRITE_F, MUSTER_WRITE_S, MUSTER_WRITE_L, MUSTER_WRITE_P, MUSTER_WRITE_O)
  if (value.partitions) {
    builder.setHasPartitions(true);
    write_list(builder.initPartitions(static_cast<unsigned>(value.partitions->size())),
               *value.partitions);
  }
}
void read(schema::JobChanged::Reader reader, JobChanged& value) {
  JOB_CHANGED_FIELDS(MUSTER_READ_F, MUSTER_READ_S, MUSTER_READ_L, MUSTER_READ_P, MUSTER_READ_O)
  if (reader.getHasPartitions()) read_list(reader.getPartitions(), value.partitions.emplace());
}

#define JOB_FIELDS(F, S, L, P, O) F(job, Job)
RECORD(JobSuspended, schema::JobSuspended, JOB_FIELDS)
RECORD(JobResumed, schema::JobResumed, JOB_FIELDS)

#define JOBS_EVICTED_FIELDS(F, S, L, P, O) L(jobs, Jobs)
RECORD(JobsEvicted, schema::JobsEvicted, JOBS_EVICTED_FIELDS)

#define STEPS_FORGOTTEN_FIELDS(F, S, L, P, O) F(job, Job) L(steps, Steps)
RECORD(StepsForgotten, schema::StepsForgotten, STEPS_FORGOTTEN_FIELDS)

#define EXPERIMENT_ENDED_FIELDS(F, S, L, P, O) F(experiment, Experiment) F(state, State)
RECORD(ExperimentEnded, schema::ExperimentEnded, EXPERIMENT_ENDED_FIELDS)

#define SEARCH_ASKED_FIELDS(F, S, L, P, O) F(experiment, Experiment) L(inputs, Inputs)
RECORD(SearchAsked, schema::SearchAsked, SEARCH_ASKED_FIELDS)

void write(schema::StepCreated::Builder builder, const StepCreated& value) {
  write(builder.initStep(), value.step);
  builder.setLaunchKey(value.launch_key);
  MUSTER_WRITE_P(spec, Spec)
  write_nodes(builder.initLayout(static_cast<unsigned>(value.layout->nodes.size())), value.layout);
}
void read(schema::StepCreated::Reader reader, StepCreated& value) {
  read(reader.getStep(), value.step);
  value.launch_key = reader.getLaunchKey();
  MUSTER_READ_P(spec, Spec)
  read_nodes(reader.getLayout(), value.layout);
}

#define STEP_BEGUN_FIELDS(F, S, L, P, O) S(step, Step) F(parts, Parts)
RECORD(StepBegun, schema::StepBegun, STEP_BEGUN_FIELDS)

#define STEP_CANCELLED_FIELDS(F, S, L, P, O) S(step, Step) F(by, By)
RECORD(StepCancelled, schema::StepCancelled, STEP_CANCELLED_FIELDS)

// clang-format off
#define STEP_ENDED_FIELDS(F, S, L, P, O) \
  S(step, Step) F(state, State) F(exit, Exit) S(usage, Usage) F(detail, Detail)
// clang-format on
RECORD(StepEnded, schema::StepEnded, STEP_ENDED_FIELDS)

void write(schema::RequestAnswered::Builder builder, const RequestAnswered& value) {
  builder.setRequestHigh(value.request.high);
  builder.setRequestLow(value.request.low);
  builder.setUser(to_wire(value.user));
  MUSTER_WRITE_L(replies, Replies)
}
void read(schema::RequestAnswered::Reader reader, RequestAnswered& value) {
  value.request = {reader.getRequestHigh(), reader.getRequestLow()};
  from_wire(reader.getUser(), value.user);
  MUSTER_READ_L(replies, Replies)
}

#define STOP_REQUESTED_FIELDS(F, S, L, P, O) F(job, Job) S(order, Order)
RECORD(StopRequested, schema::StopRequested, STOP_REQUESTED_FIELDS)

// clang-format off
#define EXPERIMENT_CREATED_FIELDS(F, S, L, P, O) \
  F(experiment, Experiment) P(spec, Spec) S(labels, Labels) F(state, State)
// clang-format on
RECORD(ExperimentCreated, schema::ExperimentCreated, EXPERIMENT_CREATED_FIELDS)

// clang-format off
#define EXPERIMENT_CHANGED_FIELDS(F, S, L, P, O) \
  F(experiment, Experiment) O(state, State) P(labels, Labels) O(max_concurrent, MaxConcurrent) \
  F(detail, Detail) P(retention, Retention) P(share, Share) F(is_collected, IsCollected) \
  O(max_slots, MaxSlots)
// clang-format on
RECORD(ExperimentChanged, schema::ExperimentChanged, EXPERIMENT_CHANGED_FIELDS)

// clang-format off
#define SEARCH_DECIDED_FIELDS(F, S, L, P, O) \
  F(experiment, Experiment) F(covered, Covered) F(state, State) F(progress, Progress) \
  L(stops, Stops) L(continued, Continued) L(created, Created) F(first_trial, FirstTrial) \
  L(awaits, Awaits) O(outcome, Outcome)
// clang-format on
RECORD(SearchDecided, schema::SearchDecided, SEARCH_DECIDED_FIELDS)

// clang-format off
#define TRIAL_REPORTED_FIELDS(F, S, L, P, O) \
  F(trial, Trial) S(report, Report) F(is_input, IsInput) F(is_at_target, IsAtTarget)
// clang-format on
RECORD(TrialReported, schema::TrialReported, TRIAL_REPORTED_FIELDS)

#define TRIAL_FLAGGED_FIELDS(F, S, L, P, O) F(trial, Trial)
RECORD(TrialFlagged, schema::TrialFlagged, TRIAL_FLAGGED_FIELDS)

// clang-format off
#define TRIAL_ENDED_FIELDS(F, S, L, P, O) \
  F(trial, Trial) F(state, State) F(exit, Exit) F(detail, Detail)
// clang-format on
RECORD(TrialEnded, schema::TrialEnded, TRIAL_ENDED_FIELDS)

#define RUN_NOTED_FIELDS(F, S, L, P, O) F(job, Job) F(note, Note)
RECORD(RunSignalled, schema::RunSignalled, RUN_NOTED_FIELDS)

#define CHECKPOINT_NOTED_FIELDS(F, S, L, P, O) P(checkpoint, Checkpoint)
RECORD(CheckpointRecorded, schema::CheckpointRecorded, CHECKPOINT_NOTED_FIELDS)

#define DOCUMENT_STORED_FIELDS(F, S, L, P, O) P(document, Document)
RECORD(DocumentStored, schema::DocumentStored, DOCUMENT_STORED_FIELDS)

#define DOCUMENT_DELETED_FIELDS(F, S, L, P, O) F(kind, Kind) F(id, Id)
RECORD(DocumentDeleted, schema::DocumentDeleted, DOCUMENT_DELETED_FIELDS)

#define TRIAL_SOURCED_FIELDS(F, S, L, P, O) F(trial, Trial) F(source, Source)
RECORD(TrialSourced, schema::TrialSourced, TRIAL_SOURCED_FIELDS)

// clang-format off
#define EXPERIMENT_CONTINUED_FIELDS(F, S, L, P, O) \
  F(experiment, Experiment) P(spec, Spec) L(trials, Trials) L(closed, Closed) F(covered, Covered) \
  F(search_state, SearchState) F(hparams, Hparams)
// clang-format on
RECORD(ExperimentContinued, schema::ExperimentContinued, EXPERIMENT_CONTINUED_FIELDS)

#define EXPERIMENT_DELETED_FIELDS(F, S, L, P, O) F(experiment, Experiment)
RECORD(ExperimentDeleted, schema::ExperimentDeleted, EXPERIMENT_DELETED_FIELDS)

#define COLLECTION_BEGUN_FIELDS(F, S, L, P, O) S(collection, Collection)
RECORD(CollectionBegun, schema::CollectionBegun, COLLECTION_BEGUN_FIELDS)

#define COLLECTION_ENDED_FIELDS(F, S, L, P, O) F(job, Job) F(is_done, IsDone)
RECORD(CollectionEnded, schema::CollectionEnded, COLLECTION_ENDED_FIELDS)

#define LOG_MATCHED_FIELDS(F, S, L, P, O) F(trial, Trial) S(match, Match)
RECORD(LogMatched, schema::LogMatched, LOG_MATCHED_FIELDS)

// clang-format off
#define LOG_RETENTION_SET_FIELDS(F, S, L, P, O) \
  F(experiment, Experiment) F(trial, Trial) F(days, Days)
// clang-format on
RECORD(LogRetentionSet, schema::LogRetentionSet, LOG_RETENTION_SET_FIELDS)

#define SEARCH_OPERATED_FIELDS(F, S, L, P, O) F(experiment, Experiment) S(input, Input)
RECORD(SearchOperated, schema::SearchOperated, SEARCH_OPERATED_FIELDS)

#define TRIAL_RESIZED_FIELDS(F, S, L, P, O) F(trial, Trial) F(slots, Slots)
RECORD(TrialResized, schema::TrialResized, TRIAL_RESIZED_FIELDS)

void write(schema::ImportedExperiment::Builder builder, const ExperimentImported& value) {
  write(builder, value.experiment);
}
void read(schema::ImportedExperiment::Reader reader, ExperimentImported& value) {
  read(reader, value.experiment);
}

#define TRIAL_IMPORTED_FIELDS(F, S, L, P, O) S(trial, Trial)
RECORD(TrialImported, schema::TrialImported, TRIAL_IMPORTED_FIELDS)

struct BodyWriter {
  schema::Event::Builder builder;
// clang-format off
#define WRITE_BODY(Type, WHICH, echo) \
  void operator()(const Type& body) { write(builder.init##Type(), body); }
  // clang-format on
  MUSTER_EVENTS(WRITE_BODY)
};

}  // namespace

void write(schema::Event::Builder builder, const Event& value) {
  builder.setTime(to_wire(value.time));
  visit(BodyWriter{builder}, value.body);
}

void read(schema::Event::Reader reader, Event& value) {
  from_wire(reader.getTime(), value.time);
  switch (reader.which()) {
// clang-format off
#define READ_BODY(Type, WHICH, echo)                              \
  case schema::Event::WHICH:                                  \
    read(reader.get##Type(), value.body.emplace<Type>());     \
    return;
    // clang-format on
    MUSTER_EVENTS(READ_BODY)
  }
  KJ_FAIL_REQUIRE("event of an unknown kind: written by a newer version",
                  static_cast<unsigned>(reader.which()));
}

}  // namespace muster::records

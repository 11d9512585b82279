#include "records/checkpoint_codec.h"

#include "records/bytes.h"
#include "records/model_records.h"
#include "schema/journal.capnp.h"

namespace muster::records {
// Declared before the templates that call them.
DECLARE_RECORD(SearchInput, schema::SearchInput)
DECLARE_RECORD(ReportInput, schema::ReportInput)
DECLARE_RECORD(ExitInput, schema::ExitInput)
DECLARE_RECORD(LimitInput, schema::LimitInput)
DECLARE_RECORD(AgainInput, schema::AgainInput)
}  // namespace muster::records

#include "records/fields.h"

namespace muster::records {

#define REPORT_INPUT_FIELDS(F, S, L, P, O) F(trial, Trial) S(report, Report)
RECORD(ReportInput, schema::ReportInput, REPORT_INPUT_FIELDS)
#define EXIT_INPUT_FIELDS(F, S, L, P, O) F(trial, Trial) F(exit, Exit) O(metric, Metric)
RECORD(ExitInput, schema::ExitInput, EXIT_INPUT_FIELDS)
#define LIMIT_INPUT_FIELDS(F, S, L, P, O) F(max_concurrent, MaxConcurrent)
RECORD(LimitInput, schema::LimitInput, LIMIT_INPUT_FIELDS)
#define AGAIN_INPUT_FIELDS(F, S, L, P, O) F(trial, Trial) F(was, Was)
RECORD(AgainInput, schema::AgainInput, AGAIN_INPUT_FIELDS)

namespace {
struct InputWriter {
  schema::SearchInput::Builder builder;
  void operator()(const SearchBegun&) { builder.initSearchBegun(); }
  void operator()(const ReportInput& input) { write(builder.initReportInput(), input); }
  void operator()(const ExitInput& input) { write(builder.initExitInput(), input); }
  void operator()(const LimitInput& input) { write(builder.initLimitInput(), input); }
  void operator()(const AgainInput& input) { write(builder.initAgainInput(), input); }
  void operator()(const OperationsInput& input) { write(builder.initOperationsInput(), input); }
};
}  // namespace
void write(schema::SearchInput::Builder builder, const SearchInput& value) {
  std::visit(InputWriter{builder}, value);
}
void read(schema::SearchInput::Reader reader, SearchInput& value) {
  switch (reader.which()) {
    case schema::SearchInput::SEARCH_BEGUN: value.emplace<SearchBegun>(); return;
    case schema::SearchInput::REPORT_INPUT:
      read(reader.getReportInput(), value.emplace<ReportInput>());
      return;
    case schema::SearchInput::EXIT_INPUT:
      read(reader.getExitInput(), value.emplace<ExitInput>());
      return;
    case schema::SearchInput::LIMIT_INPUT:
      read(reader.getLimitInput(), value.emplace<LimitInput>());
      return;
    case schema::SearchInput::AGAIN_INPUT:
      read(reader.getAgainInput(), value.emplace<AgainInput>());
      return;
    case schema::SearchInput::OPERATIONS_INPUT:
      read(reader.getOperationsInput(), value.emplace<OperationsInput>());
      return;
  }
  KJ_FAIL_REQUIRE("input of an unknown kind: written by a newer version");
}

namespace {

using records::read;
using records::write;

template <class Holder>
void read_nodes(capnp::List<schema::NodeGrant>::Reader list,
                std::shared_ptr<const Holder>& holder) {
  auto fresh = std::make_shared<Holder>();
  read_list(list, fresh->nodes);
  holder = std::move(fresh);
}

// clang-format off
#define STEP_STATE_FIELDS(F, S, L, P, O) \
  S(id, Id) P(spec, Spec) F(state, State) F(start_time, StartTime) F(end_time, EndTime) \
  F(exit, Exit) S(usage, Usage) F(detail, Detail) F(begun, Begun) F(launch_key, LaunchKey) \
  O(cancelled_by, CancelledBy)
// clang-format on
void write(schema::StepRecord::Builder builder, const StepState& value) {
  STEP_STATE_FIELDS(MUSTER_WRITE_F, MUSTER_WRITE_S, MUSTER_WRITE_L, MUSTER_WRITE_P, MUSTER_WRITE_O)
  write_list(builder.initLayout(static_cast<unsigned>(value.layout->nodes.size())),
             value.layout->nodes);
}
void read(schema::StepRecord::Reader reader, StepState& value) {
  STEP_STATE_FIELDS(MUSTER_READ_F, MUSTER_READ_S, MUSTER_READ_L, MUSTER_READ_P, MUSTER_READ_O)
  read_nodes(reader.getLayout(), value.layout);
}

// clang-format off
#define JOB_FIELDS(F, S, L, P, O) \
  F(id, Id) P(spec, Spec) F(state, State) F(flags, Flags) F(reason, Reason) F(attempt, Attempt) \
  F(priority, Priority) L(partitions, Partitions) F(partition, Partition) \
  F(time_limit, TimeLimit) F(submit_time, SubmitTime) F(eligible_time, EligibleTime) \
  F(start_time, StartTime) F(end_time, EndTime) F(exit, Exit) F(cancelled_by, By) \
  F(hold_after, HoldAfter) F(array_job, ArrayJob) O(array_index, ArrayIndex) \
  P(first_step, FirstStep)
// clang-format on

void write(schema::JobRecord::Builder builder, const Job& value) {
  JOB_FIELDS(MUSTER_WRITE_F, MUSTER_WRITE_S, MUSTER_WRITE_L, MUSTER_WRITE_P, MUSTER_WRITE_O)
  if (value.detail != nullptr) builder.setDetail(to_wire(*value.detail));
  if (value.dependencies != nullptr) write(builder.initDependencies(), *value.dependencies);
  if (value.array_range != nullptr) write(builder.initArrayRange(), *value.array_range);
  if (value.array != nullptr) {
    write(builder.initArray(), value.array->remaining);
    if (value.array_range == nullptr) write(builder.initArrayRange(), value.array->range);
    builder.setActiveElements(value.array->active_elements);
    builder.setEvictedCompleted(to_wire(value.array->evicted_completed));
    builder.setEvictedFailed(to_wire(value.array->evicted_failed));
  }
  if (value.run == nullptr) return;
  write_list(builder.initAllocation(static_cast<unsigned>(value.run->allocation->nodes.size())),
             value.run->allocation->nodes);
  builder.setSuspendTime(to_wire(value.run->suspend_time));
  builder.setSuspendedBefore(to_wire(value.run->suspended_before));
  builder.setRunKey(value.run->run_key);
  builder.setReleasedNodes(to_wire(value.run->released));
  builder.setNextStep(value.run->next_step);
  if (value.run->stop) write(builder.initStop(), *value.run->stop);
  builder.setHasSession(value.run->has_session);
  builder.setIsStopAcknowledged(value.run->is_stop_acknowledged);
  builder.setForgottenSteps(value.run->forgotten.count);
  if (value.run->forgotten.count != 0)
    write(builder.initForgottenUsage(), value.run->forgotten.usage);
  builder.setForgottenExit(to_wire(value.run->forgotten.exit));
  auto steps = builder.initSteps(static_cast<unsigned>(value.run->steps.size()));
  for (unsigned i = 0; i < value.run->steps.size(); ++i) write(steps[i], value.run->steps[i]);
}

void read(schema::JobRecord::Reader reader, Job& value) {
  JOB_FIELDS(MUSTER_READ_F, MUSTER_READ_S, MUSTER_READ_L, MUSTER_READ_P, MUSTER_READ_O)
  if (reader.getDetail().size() > 0) {
    value.detail = std::make_unique<std::string>();
    from_wire(reader.getDetail(), *value.detail);
  }
  if (reader.hasDependencies()) {
    value.dependencies = std::make_unique<DependencySet>();
    read(reader.getDependencies(), *value.dependencies);
  }
  if (reader.hasArray()) {
    value.array = std::make_unique<ArrayRecord>();
    read(reader.getArray(), value.array->remaining);
    read(reader.getArrayRange(), value.array->range);
    value.array->active_elements = reader.getActiveElements();
    from_wire(reader.getEvictedCompleted(), value.array->evicted_completed);
    from_wire(reader.getEvictedFailed(), value.array->evicted_failed);
  }
  if (reader.hasArrayRange() && value.array_index) {
    value.array_range = std::make_unique<ArrayRange>();
    read(reader.getArrayRange(), *value.array_range);
  }
  if (!reader.hasAllocation()) return;
  value.run = std::make_unique<JobRun>();
  read_nodes(reader.getAllocation(), value.run->allocation);
  from_wire(reader.getSuspendTime(), value.run->suspend_time);
  from_wire(reader.getSuspendedBefore(), value.run->suspended_before);
  value.run->run_key = reader.getRunKey();
  from_wire(reader.getReleasedNodes(), value.run->released);
  value.run->next_step = reader.getNextStep();
  if (reader.hasStop()) read(reader.getStop(), value.run->stop.emplace());
  value.run->has_session = reader.getHasSession();
  value.run->is_stop_acknowledged = reader.getIsStopAcknowledged();
  value.run->forgotten.count = reader.getForgottenSteps();
  if (reader.hasForgottenUsage()) read(reader.getForgottenUsage(), value.run->forgotten.usage);
  from_wire(reader.getForgottenExit(), value.run->forgotten.exit);
  for (const auto step : reader.getSteps()) read(step, value.run->steps.emplace_back());
}

// clang-format off
#define EXPERIMENT_FIELDS(F, S, L, P, O) \
  F(id, Id) P(spec, Spec) S(labels, Labels) F(state, State) F(submit_time, SubmitTime) \
  F(end_time, EndTime) F(covered, Covered) O(outcome, Outcome) F(progress, Progress) \
  L(trials, Trials) F(open_trials, OpenTrials) F(detail, Detail) S(retention, Retention) \
  S(share, Share) F(is_collected, IsCollected) F(used_slot_time, UsedSlotTime) \
  O(max_slots, MaxSlots) O(log_retention_days, LogRetentionDays)
// clang-format on
void write(schema::ExperimentRecord::Builder builder, const Experiment& value) {
  EXPERIMENT_FIELDS(MUSTER_WRITE_F, MUSTER_WRITE_S, MUSTER_WRITE_L, MUSTER_WRITE_P, MUSTER_WRITE_O)
  write_list(builder.initInputs(static_cast<unsigned>(value.inputs.size())), value.inputs);
  if (value.search_state != nullptr) builder.setSearchState(to_wire(value.search_state));
}
void read(schema::ExperimentRecord::Reader reader, Experiment& value) {
  EXPERIMENT_FIELDS(MUSTER_READ_F, MUSTER_READ_S, MUSTER_READ_L, MUSTER_READ_P, MUSTER_READ_O)
  for (const auto input : reader.getInputs()) read(input, value.inputs.emplace_back());
  if (reader.hasSearchState()) from_wire(reader.getSearchState(), value.search_state);
}

// clang-format off
#define TRIAL_FIELDS(F, S, L, P, O) \
  F(id, Id) F(experiment, Experiment) F(index, Index) F(job, Job) F(state, State) F(seed, Seed) \
  F(bracket, Bracket) F(hparams, Hparams) O(target, Target) O(clone_of, CloneOf) \
  F(is_waiting, IsWaiting) P(stop, Stop) F(is_invalid, IsInvalid) F(restarts, Restarts) \
  O(awaits, Awaits) O(metric, Metric) F(units, Units) F(submit_time, SubmitTime) \
  F(end_time, EndTime) F(detail, Detail) F(source, Source) F(awaits_source, AwaitsSource) \
  F(last_run, LastRun) L(log_matches, LogMatches) L(failed_runs, FailedRuns) \
  O(log_retention_days, LogRetentionDays) F(slots, Slots) F(resize_time, ResizeTime) \
  F(imported_from, ImportedFrom) O(ended_early_at, EndedEarlyAt) O(best_metric, BestMetric)
// clang-format on
RECORD(Trial, schema::TrialRecord, TRIAL_FIELDS)

void write(schema::Blob::Builder builder, const BlobEntry& value) {
  builder.setId(to_wire(value.id));
  builder.setDigest(
      kj::arrayPtr(reinterpret_cast<const kj::byte*>(value.digest.data()), value.digest.size()));
  builder.setSize(value.size);
  builder.setReferences(value.references);
}
void read(schema::Blob::Reader reader, BlobEntry& value) {
  from_wire(reader.getId(), value.id);
  value.digest.assign(reinterpret_cast<const char*>(reader.getDigest().begin()),
                      reader.getDigest().size());
  value.size = reader.getSize();
  value.references = reader.getReferences();
}

void write(schema::AnsweredRequest::Builder builder, const AnswerEntry& value) {
  builder.setRequestHigh(value.id.high);
  builder.setRequestLow(value.id.low);
  builder.setUser(to_wire(value.user));
  builder.setTime(to_wire(value.time));
  MUSTER_WRITE_L(replies, Replies)
}
void read(schema::AnsweredRequest::Reader reader, AnswerEntry& value) {
  value.id = {reader.getRequestHigh(), reader.getRequestLow()};
  from_wire(reader.getUser(), value.user);
  from_wire(reader.getTime(), value.time);
  MUSTER_READ_L(replies, Replies)
}

}  // namespace

// Found by argument-dependent look-up, which does not see into an unnamed namespace.
DECLARE_RECORD(ClusterEntry, schema::ClusterRecord)

// clang-format off
#define CLUSTER_FIELDS(F, S, L, P, O) \
  S(settings, Settings) L(partitions, Partitions) F(epoch, Epoch) F(next_job, NextJob) \
  F(next_blob, NextBlob) F(time, Time) F(next_experiment, NextExperiment) \
  F(next_trial, NextTrial) L(next_documents, NextDocuments) F(cluster_id, ClusterId) \
  F(rules, Rules)
// clang-format on
RECORD(ClusterEntry, schema::ClusterRecord, CLUSTER_FIELDS)

std::string encode_slice(const SliceToWrite& value) {
  capnp::MallocMessageBuilder message;
  auto builder = message.initRoot<schema::CheckpointSlice>();
  MUSTER_WRITE_P(cluster, Cluster)
  auto nodes = builder.initNodes(static_cast<unsigned>(value.nodes.size()));
  for (unsigned i = 0; i < value.nodes.size(); ++i) {
    write(nodes[i].initConfig(), value.nodes[i].first);
    write(nodes[i].initStatus(), value.nodes[i].second);
  }
  auto jobs = builder.initJobs(static_cast<unsigned>(value.jobs.size()));
  for (unsigned i = 0; i < value.jobs.size(); ++i) write(jobs[i], *value.jobs[i]);
  auto blobs = builder.initBlobs(static_cast<unsigned>(value.blobs.size()));
  for (unsigned i = 0; i < value.blobs.size(); ++i) write(blobs[i], value.blobs[i]);
  auto experiments = builder.initExperiments(static_cast<unsigned>(value.experiments.size()));
  for (unsigned i = 0; i < value.experiments.size(); ++i)
    write(experiments[i], *value.experiments[i]);
  auto trials = builder.initTrials(static_cast<unsigned>(value.trials.size()));
  for (unsigned i = 0; i < value.trials.size(); ++i) write(trials[i], *value.trials[i]);
  auto checkpoints = builder.initCheckpoints(static_cast<unsigned>(value.checkpoints.size()));
  for (unsigned i = 0; i < value.checkpoints.size(); ++i)
    write(checkpoints[i], *value.checkpoints[i]);
  auto documents = builder.initDocuments(static_cast<unsigned>(value.documents.size()));
  for (unsigned i = 0; i < value.documents.size(); ++i) write(documents[i], *value.documents[i]);
  auto collections = builder.initCollections(static_cast<unsigned>(value.collections.size()));
  for (unsigned i = 0; i < value.collections.size(); ++i)
    write(collections[i], value.collections[i]);
  auto answers = builder.initRequests(static_cast<unsigned>(value.answers.size()));
  for (unsigned i = 0; i < value.answers.size(); ++i) write(answers[i], value.answers[i]);
  return message_bytes(message);
}

Result<Slice> decode_slice(std::string_view bytes) {
  Slice value;
  TRY(with_message<schema::CheckpointSlice>(bytes, [&](schema::CheckpointSlice::Reader reader) {
    MUSTER_READ_P(cluster, Cluster)
    for (const auto node : reader.getNodes()) {
      auto& [config, status] = value.nodes.emplace_back();
      read(node.getConfig(), config);
      read(node.getStatus(), status);
    }
    for (const auto blob : reader.getBlobs()) read(blob, value.blobs.emplace_back());
    for (const auto experiment : reader.getExperiments())
      read(experiment, value.experiments.emplace_back());
    for (const auto trial : reader.getTrials()) read(trial, value.trials.emplace_back());
    for (const auto checkpoint : reader.getCheckpoints())
      read_into(checkpoint, value.checkpoints.emplace_back());
    for (const auto document : reader.getDocuments())
      read_into(document, value.documents.emplace_back());
    for (const auto collection : reader.getCollections())
      read(collection, value.collections.emplace_back());
    for (const auto job : reader.getJobs()) read(job, value.jobs.emplace_back());
    for (const auto answer : reader.getRequests()) read(answer, value.answers.emplace_back());
  }));
  return value;
}

}  // namespace muster::records

#include "state/testing.h"

namespace muster::testing {

std::shared_ptr<ClusterConfig> config_of(std::uint32_t count) {
  auto config = std::make_shared<ClusterConfig>();
  config->settings.gres_types = {"gpu"};
  config->settings.kill_wait = Duration::seconds(5);
  for (const char* name : {"main", "other"}) {
    PartitionConfig partition;
    partition.name = name;
    partition.is_default = partition.name == "main";
    for (std::uint32_t i = 0; i < count; ++i) partition.nodes.push_back(NodeIndex(i));
    config->partitions.push_back(std::move(partition));
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    NodeConfig node;
    node.name = "n" + std::to_string(i);
    node.cpus = node.cores_per_socket = 4;
    node.memory_mib = 1000;
    node.gres.push_back(GresPool{"gpu", "", 2, {}});
    node.features = {"fast"};
    config->nodes.push_back(std::move(node));
  }
  return config;
}

std::shared_ptr<JobSpec> spec_of(const std::string& name) {
  auto spec = std::make_shared<JobSpec>();
  spec->text.set(JobText::kName, name);
  spec->text.set(JobText::kWorkDir, "/tmp");
  spec->user = UserId(1000);
  return spec;
}

NodeGrant grant_of(std::uint32_t node, std::size_t first, std::size_t count) {
  return NodeGrant{
      NodeIndex(node), static_cast<std::uint32_t>(count), Bitmap::range(first, count), 100, {}};
}

Log::Log(std::uint32_t nodes) { add({EpochStarted{Epoch(1)}, ConfigApplied{config_of(nodes)}}); }

Log::~Log() = default;

void Log::add(std::vector<EventBody> bodies, std::vector<BlobWrite> blobs) {
  EventBatch batch;
  batch.seq = Seq(state_.seq().value() + 1);
  batch.epoch = Epoch(1);
  batch.blobs = std::move(blobs);
  for (EventBody& body : bodies) batch.events.push_back(Event{at(++seconds_), std::move(body)});
  for (const BlobWrite& blob : batch.blobs) state_.add_blob(blob);
  for (const Event& event : batch.events) state_.apply(event);
  batch.dead_blobs = state_.seal(batch.seq);
  batches_.push_back(std::make_shared<const EventBatch>(std::move(batch)));
}

JobId Log::submit(const std::shared_ptr<JobSpec>& spec, std::optional<ArraySpec> array) {
  JobSubmitted event;
  event.job = state_.next_job();
  event.spec = spec;
  event.partitions = {PartitionIndex(0)};
  event.time_limit = Duration::minutes(10);
  event.array = std::move(array);
  const JobId job = event.job;
  add({std::move(event)});
  return job;
}

JobId Log::submit_with_memory(std::uint64_t per_cpu_mib) {
  auto spec = spec_of();
  spec->request.edit()->memory_scope = MemoryScope::kPerCpu;
  spec->request.edit()->memory_mib = per_cpu_mib;
  return submit(spec);
}

void Log::set_max_memory_per_cpu(PartitionIndex partition, std::uint64_t mib) {
  PartitionChanged change{partition, state_.partition(partition)};
  change.config.max_memory_per_cpu_mib = mib;
  add({std::move(change)});
}

void Log::start(JobId job, std::vector<NodeGrant> grants) {
  auto allocation = std::make_shared<Allocation>();
  allocation->nodes = std::move(grants);
  add({JobStarted{job, PartitionIndex(0), std::move(allocation), Duration::minutes(10)}});
}

StepId Log::step(JobId job, std::uint32_t number, std::vector<NodeGrant> grants) {
  auto layout = std::make_shared<StepLayout>();
  layout->nodes = std::move(grants);
  const StepId id{job, state_.jobs().find(job)->attempt, number};
  add({StepCreated{id, number == kBatchStep ? nullptr : std::make_shared<const StepSpec>(),
                   std::move(layout)}});
  return id;
}

void Log::end(JobId job, JobState state, bool is_clean, bool requeue_after) {
  JobEnding ending;
  ending.job = job;
  ending.state = state;
  ending.is_clean = is_clean;
  ending.requeue_after = requeue_after;
  add({std::move(ending)});
}

namespace {

void add_checkpoint(Log& log, const Checkpoint& checkpoint) {
  log.add({CheckpointRecorded{std::make_shared<const Checkpoint>(checkpoint)}});
}

/// Two models, of which one is deleted again.
void add_models(Log& log) {
  for (const std::uint32_t model : {1U, 2U}) {
    Document document{
        DocumentKind::kModel, model, 0,    0, "m", UserId(1000), "ann", at(20), at(21),
        model == 1,           "{}",  {"a"}};
    log.add({DocumentStored{std::make_shared<const Document>(document)}});
  }
  log.add({DocumentDeleted{DocumentKind::kModel, 2}});
}

}  // namespace

void add_experiment(Log& log) {
  auto spec = std::make_shared<ExperimentSpec>();
  spec->user = UserId(1000);
  spec->config = R"({"name": "e"})";
  spec->metric = "loss";
  spec->run_folder = "/tmp/runs";
  spec->job = spec_of("e");
  ExperimentCreated created;
  created.experiment = log.state().next_experiment();
  created.spec = spec;
  created.labels.name = "e";
  created.labels.labels = {"first"};
  const ExperimentId id = created.experiment;
  log.add({created});
  SearchDecided decided;
  decided.experiment = id;
  decided.covered = 1;
  decided.state = std::make_shared<const std::string>("what it remembers");
  decided.progress = 0.25;
  decided.first_trial = log.state().next_trial();
  for (std::uint32_t i = 0; i < 3; ++i)
    decided.created.push_back({TrialIndex(i), i, 0, R"({"lr": 0.1})", 4, {}});
  decided.awaits = {{TrialIndex(0), 4.0}, {TrialIndex(1), {}}};
  std::vector<EventBody> batch{decided};
  const JobId first_job = log.state().next_job();
  for (std::uint32_t i = 0; i < 3; ++i) {
    auto job = spec_of("e." + std::to_string(i));
    job->trial = TrialId(decided.first_trial.value() + i);
    JobSubmitted submitted;
    submitted.job = JobId(first_job.value() + i);
    submitted.spec = std::move(job);
    submitted.partitions = {PartitionIndex(0)};
    batch.emplace_back(std::move(submitted));
  }
  log.add(std::move(batch));
  const TrialId first = decided.first_trial;
  log.start(first_job, {grant_of(1, 3, 1)});
  log.add({TrialReported{first, {0.5, 4}, true, true}, TrialFlagged{TrialId(first.value() + 1)},
           StopRequested{first_job, {StopCall::kRung, at(5000)}}});
  log.add({RunSignalled{first_job, RunSignal::kSession},
           RunSignalled{first_job, RunSignal::kStopAcknowledged}});
  for (const CheckpointState state : {CheckpointState::kActive, CheckpointState::kCompleted}) {
    for (const std::string uuid : {"b", "a"}) {
      add_checkpoint(
          log, {uuid + std::to_string(first.value()), first, 1, 4, state, at(20), 0, "{}", "{}"});
    }
  }
  add_models(log);
  JobEnding ending;
  ending.job = JobId(first_job.value() + 1);
  ending.state = JobState::kFailed;
  log.add({ending,
           TrialEnded{TrialId(first.value() + 1), TrialState::kError, TrialExit::kErrored, "why"}});
  log.add({LogMatched{first, {1, "oom", LogAction::kCancelRetries, "n1", "out of memory"}},
           LogRetentionSet{id, TrialId(), 30}, LogRetentionSet{id, first, -1}});
  ExperimentChanged changed;
  changed.experiment = id;
  changed.max_concurrent = 7;
  changed.labels = created.labels;
  changed.labels->notes = "n";
  log.add({changed});
  decided.covered = 2;
  decided.created.clear();
  decided.awaits.clear();
  decided.stops = {{TrialIndex(2), {StopCause::kRungCut, 0, 1, 2, 1, 3}}};
  decided.continued = {{TrialIndex(0), 16}};
  log.add({decided});
  log.end(first_job, JobState::kCompleted, true, true);
  log.add({JobRequeued{first_job, at(6000), job_flag::kTrialHeld}});
}

void add_operated_and_imported(Log& log) {
  auto spec = std::make_shared<ExperimentSpec>();
  spec->user = UserId(1000);
  spec->config = R"({"name": "operated"})";
  spec->searcher = "custom";
  spec->run_folder = "/tmp/runs";
  spec->slots_per_trial = 4;
  spec->min_slots_per_trial = 1;
  spec->job = spec_of("operated");
  ExperimentCreated created;
  created.experiment = log.state().next_experiment();
  created.spec = spec;
  log.add({created});
  const SearchOperation create{SearchVerb::kCreate,       "a", R"({"lr": 0.5})", "", 0,
                               SearchOutcome::kCompleted, 0};
  const SearchOperation train{SearchVerb::kValidateAfter, "a", "", "", 8,
                              SearchOutcome::kCompleted,  0};
  log.add({SearchOperated{created.experiment, {1, {create, train}}}});
  SearchDecided decided;
  decided.experiment = created.experiment;
  decided.covered = 2;
  decided.state = std::make_shared<const std::string>("events");
  decided.first_trial = log.state().next_trial();
  decided.created = {TrialPlan{TrialIndex(0), 1, 0, R"({"lr": 0.5})", 8, {}}};
  auto job = spec_of("operated.0");
  job->trial = decided.first_trial;
  JobSubmitted submitted;
  submitted.job = log.state().next_job();
  submitted.spec = std::move(job);
  submitted.partitions = {PartitionIndex(0)};
  log.add({decided, submitted});
  log.add({TrialResized{decided.first_trial, 2}});
  log.add({SearchOperated{created.experiment, {2, {}}}});

  auto foreign = std::make_shared<ExperimentSpec>(*spec);
  foreign->imported_from = "00000000-0000-4000-8000-000000000001/12";
  ImportedExperiment imported;
  imported.id = ExperimentId(log.state().next_experiment().value() + 5);
  imported.spec = foreign;
  imported.labels.name = "old";
  imported.submit_time = at(-900);
  imported.end_time = at(-500);
  ImportedTrial trial;
  trial.id = TrialId(log.state().next_trial().value() + 7);
  trial.experiment = imported.id;
  trial.imported_from = "34";
  trial.seed = 5;
  trial.hparams = R"({"lr": 0.25})";
  trial.last_run = 2;
  trial.metric = 0.125;
  trial.submit_time = at(-900);
  trial.end_time = at(-500);
  log.add({ExperimentImported{imported}, TrialImported{trial}});
}

namespace {

void cancel_trial(Log& log, JobId job, TrialId trial) {
  JobEnding ending;
  ending.job = job;
  ending.state = JobState::kCancelled;
  log.add({ending, TrialEnded{trial, TrialState::kCanceled, TrialExit::kCanceled, ""}});
}

/// A job that deletes checkpoints of the experiment comes and goes.
void collect(Log& log, ExperimentId experiment, const std::string& uuid, bool is_done,
             bool is_whole) {
  const JobId job = log.submit(spec_of("collect"));
  log.add({CollectionBegun{Collection{job, experiment, is_whole, {uuid}}}});
  log.end(job, is_done ? JobState::kCompleted : JobState::kFailed, true);
  log.add({CollectionEnded{job, is_done}});
}

/// `gone` and `stays`: its two checkpoints.
void change_and_collect(Log& log, ExperimentId id, const std::string& gone,
                        const std::string& stays, bool is_deleted) {
  ExperimentChanged changed;
  changed.experiment = id;
  changed.share = ExperimentShare{7, 2.5};
  changed.max_slots = 9;
  changed.retention = CheckpointRetention{3, 2, 1};
  log.add({changed});
  collect(log, id, gone, true, false);
  collect(log, id, stays, false, false);
  ExperimentChanged collected;
  collected.experiment = id;
  collected.is_collected = true;
  log.add({collected});
  if (!is_deleted) return;
  ExperimentChanged deleting;
  deleting.experiment = id;
  deleting.state = ExperimentState::kDeleting;
  log.add({deleting});
  collect(log, id, stays, true, true);
  log.add({ExperimentDeleted{id}});
}

}  // namespace

void add_second_life(Log& log, bool is_deleted) {
  auto spec = std::make_shared<ExperimentSpec>();
  spec->user = UserId(1000);
  spec->config = R"({"name": "again"})";
  spec->run_folder = "/tmp/runs";
  spec->job = spec_of("again");
  spec->parent = ExperimentId(1);
  spec->source_checkpoint = "source";
  spec->budget = {Duration::minutes(90), Duration::minutes(120)};
  ExperimentCreated created;
  created.experiment = log.state().next_experiment();
  created.spec = spec;
  const ExperimentId id = created.experiment;
  SearchDecided decided;
  decided.experiment = id;
  decided.covered = 1;
  decided.state = std::make_shared<const std::string>("what it remembers");
  decided.first_trial = log.state().next_trial();
  const TrialId trial = decided.first_trial;
  TrialPlan plan{TrialIndex(0), 1, 0, "{}", {}, {}, "source", false};
  TrialPlan copy{TrialIndex(1), 2, 0, "{}", {}, TrialIndex(0), "", true};
  decided.created = {plan, copy};
  decided.outcome = SearchOutcome::kCompleted;
  log.add({created});
  std::vector<EventBody> batch{decided};
  const auto submit = [&](TrialId whose, std::uint32_t runs_before) {
    auto job = spec_of("again");
    job->trial = whose;
    job->runs_before = runs_before;
    JobSubmitted submitted;
    submitted.job =
        JobId(log.state().next_job().value() + static_cast<std::uint32_t>(batch.size()) - 1);
    submitted.spec = std::move(job);
    submitted.partitions = {PartitionIndex(0)};
    batch.emplace_back(std::move(submitted));
  };
  const JobId first = log.state().next_job();
  submit(trial, 0);
  submit(TrialId(trial.value() + 1), 0);
  log.add(std::exchange(batch, {}));
  log.add({TrialSourced{TrialId(trial.value() + 1), "settled"}});
  const std::string gone = "gone" + std::to_string(trial.value());
  const std::string stays = "stays" + std::to_string(trial.value());
  for (const std::string& uuid : {gone, stays}) {
    add_checkpoint(
        log, {uuid, trial, 1, 4, CheckpointState::kCompleted, at(20), 9, "{}", R"({"f": 9})"});
  }
  cancel_trial(log, first, trial);
  cancel_trial(log, JobId(first.value() + 1), TrialId(trial.value() + 1));
  ExperimentContinued again{
      id, spec, {{trial, TrialIndex(0), TrialExit::kCanceled}}, {TrialIndex(1)}, 1, decided.state,
      {}};
  batch.emplace_back(again);
  const JobId second = log.state().next_job();
  submit(trial, 1);
  log.add(std::exchange(batch, {}));
  decided.covered = 3;
  decided.created.clear();
  decided.first_trial = log.state().next_trial();
  log.add({decided});
  cancel_trial(log, second, trial);
  change_and_collect(log, id, gone, stays, is_deleted);
}

void add_present_rules(Log& log) {
  const auto go_by = [&](std::uint32_t rules) {
    log.add({EpochStarted{Epoch(log.state().epoch().value() + 1), "", rules}});
  };
  go_by(kEventRules);
  NodeChanged full;
  full.node = NodeIndex(0);
  full.set_conditions = node_condition::kDrainByFault;
  full.reason = "Node fault: no room";
  full.fault = "no room";
  log.add({full});
  log.add({NodeRegistered{NodeIndex(0), "boot", at(0), at(0), "1", "x86", "Linux",
                          node_condition::kInvalid, node_condition::kDrainByFault, "Low CPUs",
                          "machine", "Low CPUs"}});
  full.set_conditions = node_condition::kDownBySilence;
  full.clear_conditions = node_condition::kDrainByFault | node_condition::kInvalid;
  full.reason = "Not responding";
  full.fault = "";
  log.add({full});
  full.set_conditions = 0;
  full.clear_conditions = node_condition::kDownBySilence;
  full.reason = "";
  log.add({full});
  const JobId job = log.submit(spec_of("steps"));
  log.start(job, {grant_of(0, 0, 1)});
  log.add({StepEnded{log.step(job, 0, {grant_of(0, 0, 1)}), JobState::kFailed,
                     ExitStatus::exited(3), Usage{1, 2, 3}, ""}});
  log.add({StepsForgotten{job, {0}}});
  log.end(job, JobState::kFailed, true);
  const JobId again = log.submit(spec_of("again"));
  log.start(again, {grant_of(0, 0, 1)});
  log.end(again, JobState::kNodeFail, true, true);
  log.add({JobRequeued{again, at(600), 0}});
  log.start(again, {grant_of(0, 0, 1)});
  log.end(again, JobState::kCompleted, true);
  auto spec = std::make_shared<ExperimentSpec>();
  spec->user = UserId(1000);
  spec->job = spec_of("ended");
  ExperimentCreated created;
  created.experiment = log.state().next_experiment();
  created.spec = spec;
  log.add({created, SearchAsked{created.experiment, {SearchBegun{}, LimitInput{3}}}});
  ExperimentChanged killed;
  killed.experiment = created.experiment;
  killed.state = ExperimentState::kStoppingKilled;
  log.add({killed});
  log.add({ExperimentEnded{created.experiment, ExperimentState::kCanceled}});
  go_by(0);
}

void add_everything(Log& log) {
  log.add({NodeRegistered{NodeIndex(0), "boot", at(0), at(0), "1", "x86", "Linux", 0,
                          node_condition::kUnknown, "", "machine"}});
  NodeChanged drain;
  drain.node = NodeIndex(1);
  drain.set_conditions = node_condition::kDrain;
  drain.reason = "disk";
  drain.weight = 7;
  drain.features = std::vector<std::string>{"slow"};
  drain.comment = "c";
  drain.extra = "e";
  log.add({drain});
  PartitionConfig partition = log.state().partition(PartitionIndex(1));
  partition.state = PartitionState::kDrain;
  log.add({PartitionChanged{PartitionIndex(1), partition}});
  auto scripted = spec_of("scripted");
  scripted->script = log.state().next_blob();
  JobSubmitted submitted;
  submitted.job = log.state().next_job();
  submitted.spec = scripted;
  submitted.partitions = {PartitionIndex(0), PartitionIndex(1)};
  submitted.time_limit = Duration::minutes(3);
  const JobId first = submitted.job;
  Reply answer;
  answer.job = first;
  log.add({submitted, RequestAnswered{RequestId{1, 2}, UserId(1000), {answer}}},
          {BlobWrite{scripted->script, std::string(32, 'd'), 4,
                     std::make_shared<const std::string>("true")}});
  const JobId array = log.submit(spec_of("array"), ArraySpec{Bitmap::range(0, 3), 2});
  log.add({ArraySplit{array, 1, log.state().next_job()}});
  const JobId element = JobId(array.value() + 1);
  JobChanged depends;
  depends.job = element;
  depends.dependencies =
      DependencySet{false, {DependencyTerm{DependencyKind::kAfterOk, first, 3, Duration(), {}}}};
  depends.eligible_time = TimePoint::unset();
  depends.priority = 12;
  depends.array_throttle = 1;
  log.add({depends});
  NodeGrant grant = grant_of(0, 0, 2);
  grant.gres.push_back(GresGrant{"gpu", "", Bitmap::range(1, 1)});
  log.start(first, {grant, grant_of(1, 0, 1)});
  const StepId batch = log.step(first, kBatchStep, {grant});
  const StepId srun = log.step(first, 0, {grant_of(1, 0, 1)});
  log.add({JobSuspended{first}});
  log.add({JobResumed{first}});
  log.add({StepBegun{srun, Bitmap::range(0, 1)}});
  log.add({StepCancelled{srun, UserId(1000)}});
  log.add({StepEnded{srun, JobState::kFailed, ExitStatus::exited(3), Usage{1, 2, 3}, "why"}});
  log.end(first, JobState::kFailed, false, true);
  log.add({NodeReleased{
      first, NodeIndex(1), {StepPart{kBatchStep, ExitStatus::exited(4), Usage{5, 6, 7}, "part"}}}});
  log.add({StepEnded{batch, JobState::kFailed, ExitStatus::signalled(9), {}, ""},
           NodeReleased{first, NodeIndex(0)}, JobRequeued{first, at(500), job_flag::kUserHeld}});
  log.start(element, {grant_of(0, 2, 2)});
  log.end(element, JobState::kCompleted, true);
  log.add({JobsEvicted{{element}}});
  add_experiment(log);
  add_second_life(log, false);
  add_second_life(log, true);
  add_operated_and_imported(log);
  log.add({ClockStepped{Duration::milliseconds(-500)}});
  log.add({JobIdsReserved{JobId(log.state().next_job().value() + 2)}});
  add_present_rules(log);
}

}  // namespace muster::testing

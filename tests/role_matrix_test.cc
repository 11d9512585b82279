// Who may do what: every verb that a client, a node or a page can send, tried by everybody. The
// verbs are those of the schema's unions and of the OpenAPI document's routes: one without a row
// here fails. What is denied must also leave no trace in the journal.
#include <capnp/schema.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fuzz/likely_request.h"
#include "fuzz/small_cluster.h"
#include "records/testing.h"
#include "schema/wire.capnp.h"

namespace muster {
namespace {

using fuzz::SmallCluster;
using testing::kAlice;
using testing::kBob;
using testing::kRoot;
using testing::selector_of;
using testing::spec_of;

constexpr Identity kNobody{UserId(65534), GroupId(65534), false};
constexpr Identity kStaff{UserId(990), GroupId(990), true};

/// Who is let in: what all of this is about belongs to alice.
enum class Access {
  kEverybody,
  kOwner,  ///< alice and operators
  kOperator,
};

struct Role {
  const char* name;
  Identity identity;
};
const Role kRoles[] = {{"nobody", kNobody},
                       {"another user", kBob},
                       {"the owner", kAlice},
                       {"an operator", kStaff},
                       {"root", kRoot}};

bool is_let_in(Access access, const Identity& identity) {
  return access == Access::kEverybody || identity.is_operator ||
         (access == Access::kOwner && identity.user == kAlice.user);
}

kj::AsyncIoContext& io() {
  static auto context = kj::setupAsyncIo();
  return context;
}

/// The names of a union's alternatives, but for those that are out of use.
std::set<std::string> alternatives(const capnp::StructSchema& schema) {
  std::set<std::string> names;
  for (const auto field : schema.getUnionFields()) {
    const std::string name = field.getProto().getName().cStr();
    if (!name.starts_with("unused")) names.insert(name);
  }
  return names;
}

// ---- what clients ask ----

constexpr const char* kUuid = "b8f635ed-7cca-46ec-86ec-000000000001";
const JobId kRuns{1};
const JobId kWaits{2};
const JobId kArray{3};
const JobId kAllocation{4};

SubmitJob submission(const std::function<void(JobSpec&)>& edit = nullptr) {
  SubmitJob submit;
  auto spec = spec_of();
  if (edit) edit(*spec);
  submit.spec = std::move(spec);
  submit.script = std::make_shared<const std::string>("#!/bin/sh\n");
  return submit;
}
CreateExperiment creation(ExperimentId parent = {}) {
  CreateExperiment create;
  create.config = "{name: s, entrypoint: t, searcher: {name: single, metric: loss}}";
  create.job = spec_of();
  create.parent = parent;
  return create;
}
UpdateObject update(UpdateKind kind, std::string name, std::string key, std::string value) {
  return UpdateObject{kind, std::move(name), {{std::move(key), std::move(value)}}};
}
ControlExperiments experiment_control(ExperimentVerb verb) {
  return ControlExperiments{verb, {ExperimentId(1)}};
}
StoreDocument model_of(const std::string& name, std::uint32_t id = 0) {
  StoreDocument store;
  store.document.kind = DocumentKind::kModel;
  store.document.id = id;
  store.document.name = name;
  store.document.body = "{}";
  return store;
}
RecordCheckpoint checkpoint_note() {
  RecordCheckpoint note;
  note.checkpoint.uuid = kUuid;
  note.checkpoint.trial = TrialId(1);
  note.checkpoint.run = 1;
  note.checkpoint.state = CheckpointState::kCompleted;
  return note;
}
UpdateExperiment new_name() {
  UpdateExperiment change;
  change.experiment = ExperimentId(1);
  change.name = "other";
  return change;
}
CreateStep step_in(JobId job) {
  auto step = std::make_shared<StepSpec>();
  step->task_count = 1;
  return CreateStep{job, step, nullptr};
}

struct RequestRow {
  const char* verb;  ///< the union's alternative
  const char* what;  ///< which use of it
  Access access;
  Request request;
  std::vector<Request> before = {};  ///< asked by alice first
};

std::vector<RequestRow> request_rows() {  // NOLINT(readability-function-size): a table
  const auto control = [](JobVerb verb, JobId job) {
    return testing::control_of(verb, selector_of(job));
  };
  CancelJobs signal = testing::cancel_of(kRuns);
  signal.signal = 10;
  return {
      {"submitJob", "as anybody", Access::kEverybody, submission()},
      {"submitJob", "with a priority", Access::kOperator,
       submission([](JobSpec& spec) { spec.priority = 5; })},
      {"submitJob", "with negative niceness", Access::kOperator,
       submission([](JobSpec& spec) { spec.nice = -1; })},
      {"cancelJobs", "one", Access::kOwner, testing::cancel_of(kRuns)},
      {"cancelJobs", "a signal", Access::kOwner, signal},
      {"controlJobs", "hold", Access::kOwner, control(JobVerb::kHold, kWaits)},
      {"controlJobs", "uhold", Access::kOwner, control(JobVerb::kUserHold, kWaits)},
      {"controlJobs", "release", Access::kOwner, control(JobVerb::kRelease, kArray)},
      {"controlJobs", "requeue", Access::kOwner, control(JobVerb::kRequeue, kRuns)},
      {"controlJobs", "requeuehold", Access::kOwner, control(JobVerb::kRequeueHold, kRuns)},
      {"controlJobs", "requeuehold State=SpecialExit", Access::kOwner,
       control(JobVerb::kRequeueSpecialExit, kRuns)},
      {"controlJobs", "suspend", Access::kOperator, control(JobVerb::kSuspend, kRuns)},
      {"controlJobs", "resume", Access::kOperator, control(JobVerb::kResume, kRuns)},
      {"updateObject", "a job", Access::kOwner, update(UpdateKind::kJob, "2", "Comment", "x")},
      {"updateObject", "a job's priority", Access::kOperator,
       update(UpdateKind::kJob, "2", "Priority", "9")},
      {"updateObject", "a node", Access::kOperator, update(UpdateKind::kNode, "n0", "Weight", "3")},
      {"updateObject", "a partition", Access::kOperator,
       update(UpdateKind::kPartition, "main", "State", "UP")},
      {"updateObject", "a step, which is refused to all", Access::kEverybody,
       update(UpdateKind::kStep, "1.batch", "TimeLimit", "1")},
      {"createStep", "in an allocation", Access::kOwner, step_in(kAllocation)},
      {"releaseAllocation", "", Access::kOwner, ReleaseAllocation{kAllocation, 0, {}}},
      {"renewLease", "", Access::kOwner, RenewLease{kAllocation}},
      {"cancelStep", "", Access::kOwner, CancelStep{StepId{kRuns, 0, kBatchStep}, 9, {}}},
      {"reconfigure", "", Access::kOperator, Reconfigure{}},
      {"createExperiment", "as anybody", Access::kEverybody, creation()},
      {"createExperiment", "with another's code", Access::kOwner, creation(ExperimentId(1))},
      {"continueExperiment",
       "",
       Access::kOwner,
       ContinueExperiment{ExperimentId(1), ""},
       {experiment_control(ExperimentVerb::kKill)}},
      {"controlExperiments", "pause", Access::kOwner, experiment_control(ExperimentVerb::kPause)},
      {"controlExperiments", "activate", Access::kOwner,
       experiment_control(ExperimentVerb::kActivate)},
      {"controlExperiments", "cancel", Access::kOwner, experiment_control(ExperimentVerb::kCancel)},
      {"controlExperiments", "kill", Access::kOwner, experiment_control(ExperimentVerb::kKill)},
      {"controlExperiments",
       "archive",
       Access::kOwner,
       experiment_control(ExperimentVerb::kArchive),
       {experiment_control(ExperimentVerb::kKill)}},
      {"controlExperiments",
       "unarchive",
       Access::kOwner,
       experiment_control(ExperimentVerb::kUnarchive),
       {experiment_control(ExperimentVerb::kKill)}},
      {"controlExperiments",
       "delete",
       Access::kOwner,
       experiment_control(ExperimentVerb::kDelete),
       {experiment_control(ExperimentVerb::kKill)}},
      {"updateExperiment", "", Access::kOwner, new_name()},
      {"reportTrial", "", Access::kOwner,
       ReportTrial{TrialId(1), 1, 1, {{"loss", 1}, {"epochs", 1}}}},
      {"flagTrial", "", Access::kOwner, FlagTrial{TrialId(1), 1}},
      {"storeDocument", "a new one", Access::kEverybody, model_of("new")},
      {"storeDocument", "another's", Access::kOwner, model_of("renamed", 1), {model_of("m")}},
      {"deleteDocument",
       "",
       Access::kOwner,
       DeleteDocument{DocumentKind::kModel, 1},
       {model_of("m")}},
      {"deleteCheckpoints", "", Access::kOwner, DeleteCheckpoints{{kUuid}}, {checkpoint_note()}},
      {"setLogRetention", "of an experiment", Access::kOwner,
       SetLogRetention{ExperimentId(1), {}, 7}},
      {"setLogRetention", "of a trial", Access::kOwner, SetLogRetention{{}, TrialId(1), 7}},
  };
}

bool is_denied(const std::optional<Error>& error) {
  return error && error->code == ErrorCode::kPermissionDenied;
}
bool is_denied(const Reply& reply) {
  const auto denied = [](const auto& outcome) { return is_denied(outcome.error); };
  return is_denied(reply.error) || std::ranges::any_of(reply.outcomes, denied) ||
         std::ranges::any_of(reply.experiments, denied);
}

TEST(RoleMatrix, EveryRequestOfClients) {
  std::set<std::string> without_row = alternatives(capnp::Schema::from<schema::Request>());
  for (const RequestRow& row : request_rows()) {
    without_row.erase(row.verb);
    for (const Role& role : kRoles) {
      SCOPED_TRACE(std::string(row.verb) + " " + row.what + ", by " + role.name);
      SmallCluster cluster(io());
      for (const Request& request : row.before) {
        const Reply reply = cluster.submit(kAlice, {request}).at(0);
        ASSERT_FALSE(reply.error) << reply.error->text();
        cluster.run_until_idle();
      }
      const std::size_t before = cluster.batches();
      const auto arrived = fuzz::through_the_wire(row.request);
      ASSERT_TRUE(arrived);
      const Reply reply = cluster.submit(role.identity, {*arrived}).at(0);
      EXPECT_EQ(!is_denied(reply), is_let_in(row.access, role.identity))
          << (reply.error ? reply.error->text() : "");
      if (is_denied(reply)) {
        EXPECT_EQ(cluster.batches(), before) << "denied, but not without a trace";
      }
    }
  }
  for (const std::string& verb : without_row) ADD_FAILURE() << verb << " has no row";
}

// ---- what clients ask to see ----

TEST(RoleMatrix, EveryQueryOfClients) {
  std::map<QueryKind, Access> rows;
  for (const QueryKind kind :
       {QueryKind::kJobs, QueryKind::kSteps, QueryKind::kNodes, QueryKind::kPartitions,
        QueryKind::kConfig, QueryKind::kHistory, QueryKind::kPing, QueryKind::kStateHash,
        QueryKind::kExperiments, QueryKind::kTrials, QueryKind::kCheckpoints, QueryKind::kDocuments,
        QueryKind::kToken}) {
    rows[kind] = Access::kEverybody;
  }
  rows[QueryKind::kBatchScript] = Access::kOwner;
  for (const QueryKind kind : testing::enumerators<QueryKind>()) {
    const auto row = rows.find(kind);
    ASSERT_NE(row, rows.end()) << "query " << static_cast<int>(kind) << " has no row";
    for (const Role& role : kRoles) {
      SCOPED_TRACE("query " + std::to_string(static_cast<int>(kind)) + " by " + role.name);
      SmallCluster cluster(io());
      Query query;
      query.kind = kind;
      query.since = TimePoint::from_seconds(1);
      query.until = cluster.now() + Duration::hours(1);
      query.filter.jobs = {selector_of(kRuns)};
      const auto pages = cluster.query(role.identity, query);
      EXPECT_EQ(pages.has_value() || !is_denied(pages.error()),
                is_let_in(row->second, role.identity))
          << (pages.has_value() ? "" : pages.error().text());
    }
  }
}

TEST(RoleMatrix, EveryCallOfTheController) {
  // Methods beside those above.
  const std::set<std::string> known = {"submit", "query", "wait", "readLogs", "registerNode"};
  for (const auto method : capnp::Schema::from<schema::Controller>().getMethods()) {
    EXPECT_TRUE(known.contains(method.getProto().getName().cStr()))
        << method.getProto().getName().cStr() << " has no row";
  }
  for (const Role& role : kRoles) {
    SCOPED_TRACE(role.name);
    SmallCluster cluster(io());
    LogQuery logs;
    logs.owner = LogOwner{LogOwnerKind::kTrial, 1};
    const auto lines =
        cluster.gateway().read_logs(role.identity, logs, Duration()).wait(io().waitScope);
    EXPECT_EQ(lines.has_value(), is_let_in(Access::kOwner, role.identity))
        << "what a trial wrote is its owner's";
    const auto answer = cluster.gateway()
                            .wait(role.identity, WaitFor{StepId{kRuns, 0, 0}, WaitUntil::kStarted})
                            .wait(io().waitScope);
    EXPECT_FALSE(is_denied(answer.error)) << "the queue is everybody's to see";
  }
}

// ---- what nodes say ----

std::uint32_t node_of(const SmallCluster& cluster, JobId job) {
  return cluster.state().jobs().find(job)->run->allocation->nodes.front().node.value();
}

/// The message as one about the step that runs, and not about another of its number.
FromAgent of_run(const SmallCluster& cluster, FromAgent message) {
  const JobRun& run = *cluster.state().jobs().find(kRuns)->run;
  const auto name = [&](auto& said) {
    if constexpr (requires { said.launch_key; }) {
      if (const StepState* step = run.find_step(said.id.step))
        said.launch_key = run.launch_key_of(*step);
    }
  };
  visit(name, message);
  return message;
}

TEST(RoleMatrix, AnAgentSpeaksForItsOwnNodeAlone) {
  std::set<std::string> without_row = alternatives(capnp::Schema::from<schema::AgentMessage>());
  // What the controller says is never taken from an agent: these are no FromAgent.
  for (const char* order :
       {"launchStep", "signalStep", "terminateJob", "suspendJob", "acknowledgeStep", "forgetJob",
        "changeEnd", "stopStep", "outputReceived", "findSteps", "endStep"}) {
    without_row.erase(order);
  }
  const StepId step{kRuns, 0, kBatchStep};
  StepDone done;
  done.id = step;
  done.tasks = {ExitStatus{}};
  OutputSent output;
  output.fragment.owner = LogOwner{LogOwnerKind::kTrial, 1};
  output.fragment.run = 1;
  const std::vector<std::pair<std::string, FromAgent>> rows = {{"stepRunning", StepRunning{step}},
                                                               {"stepDone", done},
                                                               {"jobClean", JobClean{kRuns, 0}},
                                                               {"outputSent", output}};
  for (const auto& [verb, said] : rows) {
    SCOPED_TRACE(verb);
    without_row.erase(verb);
    SmallCluster cluster(io());
    if (verb == "jobClean") {  // it is awaited from the job's own node
      ASSERT_FALSE(cluster.submit(kAlice, {testing::cancel_of(kRuns)}).at(0).error);
    }
    const std::uint32_t own =
        node_of(cluster,
                verb == "outputSent" ? cluster.state().experiments().find(TrialId(1))->job : kRuns);
    const std::size_t before = cluster.batches();
    const FromAgent message = of_run(cluster, said);
    EXPECT_FALSE(cluster.hear(NodeIndex(1 - own), message));
    EXPECT_EQ(cluster.batches(), before) << "another node ends or starts what is not there";
    EXPECT_TRUE(cluster.hear(NodeIndex(own), message));
  }
  // About the node that says it, whatever it holds.
  without_row.erase("heartbeat");
  // A second agent of a name, while the first is heard.
  without_row.erase("registerNode");
  SmallCluster cluster(io());
  RegisterNode second = testing::Rig::hello_of(0);
  second.agent_id = 99;
  const auto refused = cluster.greet(second);
  EXPECT_FALSE(refused.has_value());
  for (const std::string& verb : without_row) ADD_FAILURE() << verb << " has no row";
}

}  // namespace
}  // namespace muster

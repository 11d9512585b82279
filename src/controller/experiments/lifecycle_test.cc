// Experiments beyond one life: continued, forked, begun with another's checkpoint, deleted; what of
// their checkpoints goes, and what they may use.
#include <gtest/gtest.h>

#include "access/experiment_access.h"
#include "controller/experiments/testing.h"
#include "platform/maintenance/drop_job.h"

namespace muster {
namespace {

using testing::control_of;
using testing::hash_after_restart;
using testing::kAlice;
using testing::kBob;
using testing::kRoot;
using testing::Lab;
using testing::random_search;

constexpr const char* kSingle =
    "{name: e, entrypoint: train, searcher: {name: single, metric: loss, max_length: {batches: "
    "10}}}";

Reply continue_it(Lab& lab, const std::string& overrides = "", Identity who = kAlice) {
  auto prepared = prepare_continuation({ExperimentId(1), overrides}, lab.rig.core.state());
  Reply reply;
  if (!prepared.has_value()) {
    reply.error = prepared.error();
    return reply;
  }
  reply = lab.rig.done(std::move(prepared).value(), who);
  lab.run_until_idle();
  return reply;
}

std::string error_of(const Reply& reply) { return reply.error ? reply.error->text() : ""; }

std::string save(Lab& lab, std::uint32_t trial, const std::string& uuid, std::uint64_t steps = 1) {
  const Checkpoint checkpoint{uuid,
                              TrialId(trial),
                              run_number(lab.job(trial)),
                              steps,
                              CheckpointState::kCompleted,
                              {},
                              7,
                              "{}",
                              "{}"};
  const Reply reply = lab.rig.done(RecordCheckpoint{checkpoint, false});
  return error_of(reply);
}

CheckpointState state_of(const Lab& lab, const std::string& uuid) {
  return lab.rig.core.state().checkpoints().find(uuid)->state;
}

/// The job that deletes something now. Requires: there is one.
const Collection& collection(const Lab& lab) {
  return lab.rig.core.state().checkpoints().collections().begin()->second;
}
bool is_collecting(const Lab& lab) {
  return !lab.rig.core.state().checkpoints().collections().empty();
}

void end_collection(Lab& lab, ExitStatus status = {}) {
  lab.run_until_idle();
  const Job& job = lab.rig.job(collection(lab).job);
  ASSERT_NE(job.run, nullptr) << "it has not started";
  lab.rig.step_done(job.run->allocation->nodes.front().node.value(), lab.rig.batch_step(job.id),
                    status);
  lab.run_until_idle();
}

std::size_t blob_count(const Lab& lab) {
  std::size_t count = 0;
  lab.rig.core.state().blobs().for_each([&](BlobId, const BlobRecord&) { ++count; });
  return count;
}

// ---- continue ----

TEST(Continuing, WhatDidNotCompleteIsTriedAgainAndTheSearchGoesOn) {
  Lab lab;
  lab.create(random_search(4, 2, 0));
  lab.exit(1);
  lab.exit(2, ExitStatus::exited(1));
  lab.control(ExperimentVerb::kKill);
  for (const std::uint32_t trial : {3U, 4U}) lab.exit(trial, ExitStatus::signalled(9));
  ASSERT_EQ(lab.experiment().state, ExperimentState::kCanceled);
  EXPECT_EQ(error_of(continue_it(lab)), "");
  EXPECT_EQ(lab.experiment().state, ExperimentState::kActive);
  EXPECT_FALSE(lab.experiment().end_time.is_set());
  EXPECT_EQ(lab.trial(1).state, TrialState::kCompleted) << "it is not trained again";
  EXPECT_EQ(lab.trial_count(), 4U);
  for (const std::uint32_t trial : {2U, 3U, 4U}) {
    EXPECT_TRUE(lab.runs(trial)) << trial;
    EXPECT_EQ(run_number(lab.job(trial)), 2U) << "runs of a trial are counted over all its jobs";
    lab.exit(trial);
  }
  EXPECT_EQ(lab.experiment().state, ExperimentState::kCompleted);
  EXPECT_EQ(hash_after_restart(lab), lab.rig.core.state().hash());
}

TEST(Continuing, TrialsThatWereNeverMadeAreMade) {
  Lab lab;
  lab.create(random_search(3, 1));
  lab.exit(1);
  lab.control(ExperimentVerb::kKill);
  lab.exit(2, ExitStatus::signalled(9));
  continue_it(lab);
  lab.exit(2);
  ASSERT_EQ(lab.trial_count(), 3U);
  lab.exit(3);
  EXPECT_EQ(lab.experiment().state, ExperimentState::kCompleted);
}

TEST(Continuing, AStartInTheMiddleGoesOnWithTheSameSearch) {
  Lab lab;
  lab.create(random_search(3, 1, 0));
  lab.exit(1, ExitStatus::exited(1));
  lab.control(ExperimentVerb::kKill);
  lab.exit(2, ExitStatus::signalled(9));
  auto prepared = prepare_continuation({ExperimentId(1), ""}, lab.rig.core.state());
  lab.rig.done(std::move(prepared).value());  // and nothing is decided before the end
  Lab again(lab.rig.stored());
  for (const std::uint32_t trial : {1U, 2U}) {
    ASSERT_TRUE(again.runs(trial)) << trial;
    again.exit(trial);
  }
  ASSERT_EQ(again.trial_count(), 3U);
  again.exit(3);
  EXPECT_EQ(again.experiment().state, ExperimentState::kCompleted);
}

TEST(Continuing, ASingleTrialTrainsFurther) {
  Lab lab;
  lab.create(kSingle);
  save(lab, 1, "a", 10);
  lab.exit(1);
  ASSERT_EQ(lab.experiment().state, ExperimentState::kCompleted);
  EXPECT_EQ(error_of(continue_it(lab, "searcher: {max_length: {batches: 30}}\nmax_restarts: 2")),
            "");
  EXPECT_EQ(lab.experiment().spec->trial_length, 30U);
  EXPECT_EQ(lab.experiment().spec->max_restarts, 2U);
  const auto& launch = lab.rig.last_sent<LaunchStep>();
  EXPECT_NE(std::ranges::find(launch.variables, "MUSTER_RUN_ID=2"), launch.variables.end());
  EXPECT_NE(std::ranges::find(launch.variables, "MUSTER_MAX_LENGTH={\"batches\": 30}"),
            launch.variables.end());
  EXPECT_EQ(error_of(lab.report(1, 0.5, 1, 1)).substr(0, 14), "invalid run id")
      << "its former run has no say";
  lab.exit(1);
  EXPECT_EQ(lab.experiment().state, ExperimentState::kCompleted);
  continue_it(lab);
  EXPECT_EQ(run_number(lab.job(1)), 3U);
}

TEST(Continuing, TheTrialOfASingleSearchMayGoOnWithOtherHyperparameters) {
  Lab lab;
  lab.create(
      "{name: e, entrypoint: train, hyperparameters: {lr: 0.5, net: {depth: 3, act: relu}}, "
      "searcher: {name: single, metric: loss}}");
  save(lab, 1, "a", 10);
  lab.exit(1);
  EXPECT_EQ(error_of(continue_it(lab, "hyperparameters: {lr: 0.25, net: {depth: 4}}")), "");
  EXPECT_EQ(lab.trial(1).hparams, R"({"lr": 0.25, "net": {"depth": 4, "act": "relu"}})");
  const auto& launch = lab.rig.last_sent<LaunchStep>();
  EXPECT_NE(std::ranges::find(launch.variables, "MUSTER_HP_LR=0.25"), launch.variables.end());
  EXPECT_NE(std::ranges::find(launch.variables, "MUSTER_HP_NET__ACT=relu"), launch.variables.end());
  EXPECT_EQ(hash_after_restart(lab), lab.rig.core.state().hash());
  lab.exit(1);
  EXPECT_NE(
      error_of(continue_it(lab, "hyperparameters: {lr: {type: double, minval: 0, maxval: 1}}"))
          .find("hyperparameters.lr: give the value that the trial goes on with"),
      std::string::npos);
}

TEST(Continuing, WhatCannotBeContinuedSaysWhy) {
  Lab lab;
  lab.create(random_search(1, 1));
  EXPECT_NE(error_of(continue_it(lab)).find("has not ended"), std::string::npos);
  lab.exit(1);
  EXPECT_NE(error_of(continue_it(lab)).find("no trial left"), std::string::npos);
  EXPECT_NE(error_of(continue_it(lab, "hyperparameters: {lr: 1}"))
                .find("hyperparameters: a search by random draws them itself"),
            std::string::npos);
  EXPECT_NE(error_of(continue_it(lab, "searcher: {max_trials: 9}")).find("searcher"),
            std::string::npos);
  EXPECT_NE(error_of(continue_it(lab, "", kBob)).find("permission"), std::string::npos);
  Lab other;
  other.create(testing::halving(true));
  other.control(ExperimentVerb::kKill);
  for (const std::uint32_t trial : {1U, 2U, 3U, 4U}) other.exit(trial, ExitStatus::signalled(9));
  EXPECT_NE(error_of(continue_it(other)).find("async_halving cannot be continued"),
            std::string::npos);
}

// ---- forks and warm starts ----

TEST(Forking, TheCodeIsTheParents) {
  Lab lab;
  lab.create(kSingle);
  CreateExperiment create;
  create.config = kSingle;
  create.parent = ExperimentId(1);
  create.context = std::make_shared<const std::string>();  // as it comes off the wire
  create.job = testing::spec_of("base");
  LastBlob last;
  auto prepared = prepare_experiment(create, kAlice, CallerNames{"alice", "users"}, last);
  EXPECT_EQ(error_of(lab.rig.done(*prepared)), "");
  EXPECT_EQ(lab.experiment(ExperimentId(2)).spec->job->script, lab.experiment().spec->job->script);
  prepared->spec->parent = ExperimentId(9);
  EXPECT_EQ(error_of(lab.rig.done(*prepared)), "there is no experiment 9");
}

TEST(WarmStart, TrialsBeginWithAnothersLastCheckpoint) {
  Lab lab;
  lab.create(kSingle);
  const std::string second =
      "{name: f, entrypoint: train, searcher: {name: single, metric: loss, source_trial_id: 1}}";
  EXPECT_NE(error_of(lab.ask(second)).find("trial 1 has no checkpoint"), std::string::npos);
  EXPECT_NE(
      error_of(
          lab.ask(
              "{name: f, entrypoint: t, searcher: {name: single, metric: l, source_trial_id: 7}}"))
          .find("there is no trial 7"),
      std::string::npos);
  EXPECT_NE(error_of(lab.ask("{name: f, entrypoint: t, searcher: {name: single, metric: l, "
                             "source_checkpoint_uuid: x}}"))
                .find("there is no checkpoint x"),
            std::string::npos);
  save(lab, 1, "a");
  lab.create(second);
  EXPECT_EQ(lab.trial(2).source, "a");
  EXPECT_TRUE(lab.runs(2));
  const Reply refused = lab.rig.done(DeleteCheckpoints{{"a"}});
  EXPECT_NE(error_of(refused).find("experiment 2 began with"), std::string::npos);
}

std::string population() {
  return "{name: p, entrypoint: train, hyperparameters: {lr: {type: double, minval: 0, maxval: "
         "1}}, searcher: {name: pbt, metric: loss, "
         "time_metric: epochs, population_size: 2, num_rounds: 2, length_per_round: 4, "
         "replace_function: {truncate_fraction: 0.5}, explore_function: {resample_probability: 0, "
         "perturb_factor: 0.2}}}";
}

TEST(Copies, OneBeginsWithWhatItsOriginalHadSavedWhenItsRunWasOver) {
  Lab lab;
  lab.create(population());
  ASSERT_EQ(lab.trial_count(), 2U);
  save(lab, 1, "old", 2);
  lab.report(1, 0.1, 4);
  lab.report(2, 0.9,
             4);  // the round is over: 2 is replaced by a copy of 1, whose run is still saving
  ASSERT_EQ(lab.trial_count(), 3U);
  EXPECT_TRUE(lab.trial(3).awaits_source);
  EXPECT_TRUE(lab.job(3).is_held());
  const Reply released =
      lab.rig.done(control_of(JobVerb::kRelease, testing::selector_of(lab.trial(3).job)));
  ASSERT_EQ(released.outcomes.size(), 1U);
  ASSERT_TRUE(released.outcomes[0].error.has_value());
  EXPECT_NE(released.outcomes[0].error->text().find("the trial that it copies"), std::string::npos);
  save(lab, 1, "new", 4);
  lab.exit(1);
  EXPECT_EQ(lab.trial(3).source, "new");
  EXPECT_FALSE(lab.trial(3).awaits_source);
  EXPECT_TRUE(lab.runs(3));
  EXPECT_TRUE(lab.runs(1)) << "the original goes on too";
  EXPECT_EQ(hash_after_restart(lab), lab.rig.core.state().hash());
}

TEST(Copies, OfAPausedExperimentTheyWaitForBoth) {
  Lab lab;
  lab.create(population());
  lab.report(1, 0.1, 4);
  lab.report(2, 0.9, 4);
  lab.control(ExperimentVerb::kPause);
  lab.control(ExperimentVerb::kActivate);
  EXPECT_TRUE(lab.job(3).is_held()) << "activating does not hurry it";
  lab.control(ExperimentVerb::kPause);
  save(lab, 1, "new", 4);
  lab.exit(1);
  EXPECT_EQ(lab.trial(3).source, "new");
  EXPECT_TRUE(lab.job(3).is_held());
  lab.control(ExperimentVerb::kActivate);
  EXPECT_TRUE(lab.runs(3));
}

// ---- deleting ----

TEST(Deleting, AJobOfTheOwnersDeletesTheFilesAndThenItIsGone) {
  Lab lab;
  lab.create(kSingle);
  save(lab, 1, "a");
  const Reply early = lab.rig.done(ControlExperiments{ExperimentVerb::kDelete, {ExperimentId(1)}});
  EXPECT_NE(early.experiments.at(0).error->text().find("has not ended"), std::string::npos);
  lab.exit(1);
  lab.control(ExperimentVerb::kDelete);
  EXPECT_EQ(lab.experiment().state, ExperimentState::kDeleting);
  ASSERT_TRUE(is_collecting(lab));
  const Job& job = lab.rig.job(collection(lab).job);
  EXPECT_EQ(job.spec->user, kAlice.user);
  EXPECT_EQ(job.spec->get(JobText::kGresPerTask), "") << "it needs no slot";
  lab.control(ExperimentVerb::kDelete);  // again changes nothing
  EXPECT_EQ(hash_after_restart(lab), lab.rig.core.state().hash());
  end_collection(lab);
  EXPECT_EQ(lab.rig.core.state().experiments().find(ExperimentId(1)), nullptr);
  EXPECT_EQ(lab.rig.core.state().experiments().find(TrialId(1)), nullptr);
  EXPECT_EQ(lab.rig.core.state().checkpoints().find("a"), nullptr);
  lab.rig.pass(Duration::hours(1));  // its jobs leave memory
  EXPECT_EQ(blob_count(lab), 0U) << "script and environment went with it";
  EXPECT_EQ(hash_after_restart(lab), lab.rig.core.state().hash());
}

TEST(Deleting, WhatFailsSaysSoAndCanBeTriedAgain) {
  Lab lab;
  lab.create(kSingle);
  save(lab, 1, "a");
  lab.exit(1);
  lab.control(ExperimentVerb::kDelete);
  end_collection(lab, ExitStatus::exited(1));
  EXPECT_EQ(lab.experiment().state, ExperimentState::kDeleteFailed);
  EXPECT_NE(lab.experiment().detail.find("could not delete its files"), std::string::npos);
  EXPECT_NE(lab.experiment().detail.find("collection.log"), std::string::npos);
  EXPECT_EQ(state_of(lab, "a"), CheckpointState::kError) << "it may be gone";
  lab.control(ExperimentVerb::kDelete);
  end_collection(lab);
  EXPECT_EQ(lab.rig.core.state().experiments().find(ExperimentId(1)), nullptr);
}

TEST(Deleting, WhatADroppedJobLeavesCanBeTriedAgain) {
  Lab lab;
  lab.create(kSingle);
  lab.exit(1);
  lab.control(ExperimentVerb::kDelete);
  const JobId job = lab.rig.core.state().checkpoints().collections().begin()->first;
  std::vector<EventBatchRef> stored = lab.rig.stored();
  ClusterState state;
  for (const EventBatchRef& batch : stored) state.apply(*batch);
  stored.push_back(
      std::make_shared<const EventBatch>(drop_job(state, job, Epoch(2), state.time()).value()));
  Lab next(stored);
  EXPECT_EQ(next.experiment().state, ExperimentState::kDeleteFailed);
  EXPECT_NE(next.experiment().detail.find("dropped by an operator"), std::string::npos);
  next.control(ExperimentVerb::kDelete);
  end_collection(next);
  EXPECT_EQ(next.rig.core.state().experiments().find(ExperimentId(1)), nullptr);
}

Document version_of(const std::string& uuid) {
  Document version;
  version.kind = DocumentKind::kModelVersion;
  version.parent = 1;
  version.body = "{}";
  version.checkpoints = {uuid};
  return version;
}

void store_model(Lab& lab, Identity who = kAlice) {
  Document model;
  model.name = "m";
  model.body = "{}";
  lab.rig.done(StoreDocument{model}, who);
}

TEST(Deleting, WhatTheRegistryNamesStays) {
  Lab lab;
  lab.create(kSingle);
  save(lab, 1, "a");
  lab.exit(1);
  store_model(lab);
  EXPECT_EQ(error_of(lab.rig.done(StoreDocument{version_of("a")})), "");
  const Reply whole = lab.rig.done(ControlExperiments{ExperimentVerb::kDelete, {ExperimentId(1)}});
  EXPECT_NE(whole.experiments.at(0).error->text().find("is in the model registry"),
            std::string::npos);
  EXPECT_NE(error_of(lab.rig.done(DeleteCheckpoints{{"a"}})).find("is in the model registry"),
            std::string::npos);
}

TEST(Deleting, WhatIsBeingDeletedIsNoLongerNamed) {
  Lab lab;
  lab.create(kSingle);
  save(lab, 1, "a");
  lab.exit(1);
  EXPECT_NE(error_of(lab.rig.done(DeleteCheckpoints{{"a"}}, kBob)), "");
  EXPECT_EQ(error_of(lab.rig.done(DeleteCheckpoints{{"a"}})), "");
  store_model(lab);
  EXPECT_NE(error_of(lab.rig.done(StoreDocument{version_of("a")})).find("not whole"),
            std::string::npos);
  EXPECT_EQ(error_of(lab.rig.done(DeleteCheckpoints{{"a"}})), "")
      << "a second wish changes nothing";
  EXPECT_EQ(lab.rig.core.state().checkpoints().collections().size(), 1U);
  end_collection(lab);
  EXPECT_EQ(state_of(lab, "a"), CheckpointState::kDeleted);
  EXPECT_FALSE(is_collecting(lab));
}

TEST(Collecting, WhatAKilledRunHadBegunToSaveGoes) {
  Lab lab;
  lab.create(random_search(1, 1));
  save(lab, 1, "a");
  Checkpoint torn{"b",  TrialId(1), run_number(lab.job(1)), 2, CheckpointState::kActive, {}, 0,
                  "{}", "{}"};
  EXPECT_EQ(error_of(lab.rig.done(RecordCheckpoint{torn, false})), "");
  lab.exit(1, ExitStatus::signalled(SIGKILL));
  lab.exit(1);
  lab.rig.done(CollectCheckpoints{ExperimentId(1), lab.experiment().retention, {}}, kRoot);
  end_collection(lab);
  EXPECT_EQ(state_of(lab, "b"), CheckpointState::kDeleted);
  EXPECT_EQ(state_of(lab, "a"), CheckpointState::kCompleted);
}

TEST(Continuing, WhatIsArchivedIsBroughtBackFirst) {
  Lab lab;
  lab.create(kSingle);
  lab.exit(1);
  lab.control(ExperimentVerb::kArchive);
  EXPECT_NE(error_of(continue_it(lab)).find("muster experiment unarchive 1"), std::string::npos);
  lab.control(ExperimentVerb::kUnarchive);
  EXPECT_EQ(error_of(continue_it(lab)), "");
}

TEST(Registry, AVersionIsTheModelsOwnersToAddAndItsCheckpointsOwnersToDelete) {
  Lab lab;
  lab.create(kSingle);
  save(lab, 1, "a");
  lab.exit(1);
  store_model(lab, kBob);
  EXPECT_TRUE(lab.rig.done(StoreDocument{version_of("a")}).error.has_value())
      << "of another's model";
  const Reply added = lab.rig.done(StoreDocument{version_of("a")}, kBob);
  EXPECT_EQ(error_of(added), "");
  EXPECT_NE(error_of(lab.rig.done(DeleteCheckpoints{{"a"}})), "");
  EXPECT_EQ(error_of(lab.rig.done(DeleteDocument{DocumentKind::kModelVersion, added.document})), "")
      << "it names a checkpoint of hers";
  EXPECT_EQ(error_of(lab.rig.done(DeleteCheckpoints{{"a"}})), "");
}

// ---- uses of checkpoints ----

Document use_of(const std::string& uuid, std::uint32_t trial, const std::string& body = "{}") {
  Document use;
  use.kind = DocumentKind::kCheckpointUse;
  use.parent = trial;
  use.name = uuid;
  use.body = body;
  return use;
}

std::vector<DocumentRef> uses(const Lab& lab) {
  return lab.rig.core.state().catalog().all(DocumentKind::kCheckpointUse);
}

TEST(Uses, AreToldByTheTrialsOwnerAndCountOnce) {
  Lab lab;
  lab.create(kSingle);
  save(lab, 1, "a");
  lab.create(kSingle);
  EXPECT_NE(error_of(lab.rig.done(StoreDocument{use_of("b", 2)})).find("there is no checkpoint b"),
            std::string::npos);
  EXPECT_NE(error_of(lab.rig.done(StoreDocument{use_of("a", 7)})).find("there is no trial 7"),
            std::string::npos);
  EXPECT_NE(error_of(lab.rig.done(StoreDocument{use_of("a", 0)})), "");
  EXPECT_NE(error_of(lab.rig.done(StoreDocument{use_of("a", 2)}, kBob)), "")
      << "of another's trial";
  EXPECT_EQ(error_of(lab.rig.done(StoreDocument{use_of("a", 2)})), "");
  EXPECT_EQ(error_of(lab.rig.done(StoreDocument{use_of("a", 2, R"({"type":"INFERENCE"})")})), "");
  ASSERT_EQ(uses(lab).size(), 1U);
  EXPECT_EQ(uses(lab)[0]->body, R"({"type":"INFERENCE"})");
  EXPECT_EQ(error_of(lab.rig.done(StoreDocument{use_of("a/3/1", 2)})), "")
      << "as a version of a model: beside it";
  EXPECT_EQ(uses(lab).size(), 2U);
  EXPECT_EQ(error_of(lab.rig.done(StoreDocument{use_of("a", 2)}, kRoot)), "") << "an operator may";
  EXPECT_EQ(error_of(lab.rig.done(StoreDocument{use_of("a", 2)})), "")
      << "and takes nothing from the owner";
  lab.exit(1);
  EXPECT_EQ(error_of(lab.rig.done(DeleteCheckpoints{{"a"}})), "")
      << "who uses a checkpoint does not own it";
}

TEST(Uses, EndWithTheTrialAndWithTheCheckpoint) {
  Lab lab;
  lab.create(kSingle);
  save(lab, 1, "a");
  lab.exit(1);
  lab.create(kSingle);
  save(lab, 2, "b");
  lab.exit(2);
  const std::vector<Document> told{use_of("a/1/1", 2), use_of("b", 2), use_of("b", 1)};
  for (const Document& use : told) EXPECT_EQ(error_of(lab.rig.done(StoreDocument{use})), "");
  lab.control(ExperimentVerb::kDelete);
  end_collection(lab);
  ASSERT_EQ(lab.rig.core.state().experiments().find(ExperimentId(1)), nullptr);
  ASSERT_EQ(uses(lab).size(), 1U);
  EXPECT_EQ(uses(lab)[0]->name, "b");
}

TEST(Registry, NamesAreShortLinesThatAreNoNumbers) {
  Lab lab;
  const auto stored = [&](DocumentKind kind, const std::string& name,
                          const std::string& body = "{}") {
    Document document;
    document.kind = kind;
    document.name = name;
    document.body = body;
    return error_of(lab.rig.done(StoreDocument{document}));
  };
  EXPECT_NE(stored(DocumentKind::kModel, "72").find("found by its number"), std::string::npos);
  EXPECT_NE(stored(DocumentKind::kWorkspace, "7"), "");
  EXPECT_NE(stored(DocumentKind::kModel, "a/b").find("slash"), std::string::npos);
  EXPECT_NE(stored(DocumentKind::kModel, "a\nb").find("control"), std::string::npos);
  EXPECT_NE(stored(DocumentKind::kModel, std::string(513, 'x')).find("at most 512"),
            std::string::npos);
  EXPECT_NE(stored(DocumentKind::kModel, "m", std::string((256 << 10) + 1, ' ')).find("too many"),
            std::string::npos);
  EXPECT_EQ(stored(DocumentKind::kModel, "72b"), "");
}

TEST(Labels, AreBoundedAndPlacesAreThere) {
  Lab lab;
  const std::string head =
      "{entrypoint: train, searcher: {name: single, metric: loss, max_length: {batches: 1}}, ";
  EXPECT_NE(error_of(lab.ask(head + "workspace: w, project: p}")).find("there is no workspace w"),
            std::string::npos);
  Document workspace;
  workspace.kind = DocumentKind::kWorkspace;
  workspace.name = "w";
  workspace.body = "{}";
  lab.rig.done(StoreDocument{workspace});
  EXPECT_NE(
      error_of(lab.ask(head + "workspace: w, project: p}")).find("workspace w has no project p"),
      std::string::npos);
  EXPECT_EQ(error_of(lab.ask(head + "workspace: Uncategorized, project: Uncategorized}")), "");
  EXPECT_NE(error_of(lab.ask(head + R"(name: "a\nb"})")).find("control"), std::string::npos);
  lab.create(kSingle);
  UpdateExperiment update;
  update.experiment = ExperimentId(1);
  update.notes = std::string((256 << 10) + 1, 'x');
  EXPECT_NE(error_of(lab.rig.done(update)).find("notes"), std::string::npos);
  update.notes = "two\nlines";
  update.add_labels = {"a\tb"};
  EXPECT_NE(error_of(lab.rig.done(update)).find("labels"), std::string::npos);
  update.add_labels = {"a b"};
  EXPECT_EQ(error_of(lab.rig.done(update)), "");
}

TEST(Visibility, IsItsOwnersUntilItIsOpened) {
  Lab lab;
  const auto stored = [&](DocumentKind kind, std::uint32_t parent, const std::string& name,
                          std::uint32_t user) {
    Document place;
    place.kind = kind;
    place.parent = parent;
    place.name = name;
    place.body = "{}";
    Identity maker;
    maker.user = UserId(user);
    EXPECT_EQ(error_of(lab.rig.done(StoreDocument{place}, maker)), "");
  };
  const std::uint32_t workspace = 2001;
  const std::uint32_t project = 2002;
  stored(DocumentKind::kWorkspace, 0, "w", workspace);
  stored(DocumentKind::kProject, 1, "p", project);
  lab.create(kSingle);
  const auto may_read = [&](std::uint32_t user, bool is_operator = false) {
    Identity reader;
    reader.user = UserId(user);
    reader.is_operator = is_operator;
    return access::check_readable(lab.rig.core.state(), lab.experiment(), reader).has_value();
  };
  const std::uint32_t owner = lab.experiment().spec->user.value();
  EXPECT_TRUE(may_read(owner) && may_read(3000, true));
  EXPECT_FALSE(may_read(3000) || may_read(workspace) || may_read(project))
      << "private, unless its file says otherwise";
  UpdateExperiment update;
  update.experiment = ExperimentId(1);
  update.workspace = "w";
  update.project = "p";
  update.visibility = Visibility::kProject;
  ASSERT_EQ(error_of(lab.rig.done(update)), "");
  EXPECT_TRUE(may_read(workspace) && may_read(project) && may_read(owner));
  EXPECT_FALSE(may_read(3000));
  update.visibility = Visibility::kCluster;
  ASSERT_EQ(error_of(lab.rig.done(update)), "");
  EXPECT_TRUE(may_read(3000));
  EXPECT_EQ(hash_after_restart(lab), lab.rig.core.state().hash());
  update.visibility = static_cast<Visibility>(9);
  EXPECT_NE(error_of(lab.rig.done(update)).find("visibility"), std::string::npos);
  const std::string head =
      "{entrypoint: train, searcher: {name: single, metric: loss, max_length: {batches: 1}}, ";
  EXPECT_NE(error_of(lab.ask(head + "visibility: everybody}"))
                .find("'everybody' is none of private, project, cluster"),
            std::string::npos);
}

TEST(Labels, FollowAPlaceThatIsCalledOtherwiseAndAreClosedByItsArchiving) {
  Lab lab;
  const auto stored = [&](DocumentKind kind, std::uint32_t id, std::uint32_t parent,
                          const std::string& name, bool is_archived = false) {
    Document place;
    place.kind = kind;
    place.id = id;
    place.parent = parent;
    place.name = name;
    place.body = "{}";
    place.is_archived = is_archived;
    return error_of(lab.rig.done(StoreDocument{place}));
  };
  const std::string head =
      "{entrypoint: train, searcher: {name: single, metric: loss, max_length: {batches: 1}}, ";
  const auto place = [&](std::uint32_t id) {
    const ExperimentLabels& labels =
        lab.rig.core.state().experiments().find(ExperimentId(id))->labels;
    return labels.workspace + "/" + labels.project;
  };
  for (const char* name : {"w", "v"}) EXPECT_EQ(stored(DocumentKind::kWorkspace, 0, 0, name), "");
  for (const std::uint32_t parent : {1U, 2U})
    EXPECT_EQ(stored(DocumentKind::kProject, 0, parent, "p"), "");
  EXPECT_EQ(error_of(lab.ask(head + "workspace: w, project: p}")), "");
  EXPECT_EQ(error_of(lab.ask(head + "workspace: v, project: p}")), "");
  EXPECT_EQ(stored(DocumentKind::kProject, 1, 1, "q"), "");
  EXPECT_EQ(place(1), "w/q");
  EXPECT_EQ(place(2), "v/p") << "another workspace's";
  EXPECT_EQ(stored(DocumentKind::kWorkspace, 2, 0, "u"), "");
  EXPECT_EQ(place(2), "u/p");
  EXPECT_NE(
      stored(DocumentKind::kWorkspace, 2, 0, "w").find("there is a workspace named w already"),
      std::string::npos);

  EXPECT_EQ(stored(DocumentKind::kProject, 1, 1, "q", true), "");
  EXPECT_NE(error_of(lab.ask(head + "workspace: w, project: q}"))
                .find("project q is archived: muster project unarchive"),
            std::string::npos);
  UpdateExperiment update;
  update.experiment = ExperimentId(2);
  update.workspace = "w";
  update.project = "q";
  EXPECT_NE(error_of(lab.rig.done(update)).find("project q is archived"), std::string::npos);
  update.project = "none";
  EXPECT_NE(error_of(lab.rig.done(update)).find("workspace w has no project none"),
            std::string::npos);
  update.workspace = update.project = "";
  EXPECT_EQ(error_of(lab.rig.done(update)), "");
  EXPECT_EQ(stored(DocumentKind::kWorkspace, 2, 0, "u", true), "");
  EXPECT_NE(error_of(lab.ask(head + "workspace: u, project: p}")).find("workspace u is archived"),
            std::string::npos);
  update = {};
  update.experiment = ExperimentId(1);
  update.name = "still";
  EXPECT_EQ(error_of(lab.rig.done(update)), "") << "what stands there may be changed";
}

TEST(Collecting, WhatIsKeptForAnotherReasonStays) {
  Lab lab;
  lab.create(random_search(1, 1));
  save(lab, 1, "a", 1);
  save(lab, 1, "b", 2);
  lab.rig.done(CollectCheckpoints{ExperimentId(1), {}, {"a"}}, kRoot);
  EXPECT_FALSE(is_collecting(lab)) << "it has not ended";
  lab.exit(1);
  lab.rig.done(CollectCheckpoints{ExperimentId(1), {5, 5, 5}, {"a"}}, kRoot);
  EXPECT_FALSE(is_collecting(lab)) << "its retention was another meanwhile";
  EXPECT_FALSE(lab.experiment().is_collected);
  lab.rig.done(CollectCheckpoints{ExperimentId(1), {}, {"a", "unknown"}}, kRoot);
  EXPECT_TRUE(lab.experiment().is_collected);
  end_collection(lab);
  EXPECT_EQ(state_of(lab, "a"), CheckpointState::kDeleted);
  EXPECT_EQ(state_of(lab, "b"), CheckpointState::kCompleted);
  UpdateExperiment update;
  update.experiment = ExperimentId(1);
  update.retention = CheckpointRetention{0, 0, 0};
  lab.rig.done(update);
  EXPECT_FALSE(lab.experiment().is_collected) << "another retention is another question";
}

TEST(Collecting, WhatBrokeOffLeavesNothingToGoOnFromAndIsTriedAgain) {
  Lab lab;
  lab.create(random_search(1, 1));
  save(lab, 1, "a", 1);
  save(lab, 1, "b", 2);
  lab.exit(1);
  lab.rig.done(CollectCheckpoints{ExperimentId(1), {}, {"a"}}, kRoot);
  end_collection(lab, ExitStatus::exited(1));
  EXPECT_EQ(state_of(lab, "a"), CheckpointState::kError) << "its files may be gone";
  EXPECT_EQ(state_of(lab, "b"), CheckpointState::kCompleted);
  store_model(lab);
  EXPECT_NE(error_of(lab.rig.done(StoreDocument{version_of("a")})), "");
  UpdateExperiment update;
  update.experiment = ExperimentId(1);
  update.retention = CheckpointRetention{0, 0, 2};
  lab.rig.done(update);
  lab.rig.done(CollectCheckpoints{ExperimentId(1), lab.experiment().retention, {}}, kRoot);
  end_collection(lab);
  EXPECT_EQ(state_of(lab, "a"), CheckpointState::kDeleted);
  EXPECT_EQ(hash_after_restart(lab), lab.rig.core.state().hash());
}

/// From now on jobs wait.
void fill_nodes(Lab& lab) {
  for (int i = 0; i < 2; ++i) {
    auto spec = testing::spec_of("fills a node");
    spec->request.edit()->cpus_per_task = 4;
    lab.rig.done(testing::submit_of(std::move(spec)));
  }
  lab.run_until_idle();
}

TEST(Collecting, AJobThatNeverBeganHasTouchedNothing) {
  Lab lab;
  lab.create(random_search(1, 1));
  save(lab, 1, "a", 1);
  lab.exit(1);
  fill_nodes(lab);
  lab.rig.done(CollectCheckpoints{ExperimentId(1), {}, {"a"}}, kRoot);
  const JobId job = collection(lab).job;
  ASSERT_TRUE(lab.rig.job(job).is_pending());
  lab.rig.done(testing::cancel_of(job));
  EXPECT_FALSE(is_collecting(lab));
  EXPECT_EQ(state_of(lab, "a"), CheckpointState::kCompleted);
}

/// musterd --drop-job.
TEST(Collecting, AJobThatIsDroppedLeavesNothingToGoOnFrom) {
  Lab lab;
  lab.create(random_search(1, 1));
  save(lab, 1, "a", 1);
  lab.exit(1);
  lab.rig.done(CollectCheckpoints{ExperimentId(1), {}, {"a"}}, kRoot);
  lab.run_until_idle();
  const JobId job = collection(lab).job;
  ASSERT_NE(lab.rig.job(job).run, nullptr);
  ClusterState state;
  for (const EventBatchRef& batch : lab.rig.stored()) state.apply(*batch);
  ASSERT_TRUE(drop_job(state, job, Epoch(2), state.time()).has_value());
  EXPECT_EQ(state.checkpoints().find("a")->state, CheckpointState::kError);
}

TEST(Continuing, NothingGoesOnFromWhatIsBeingDeleted) {
  Lab lab;
  lab.create(kSingle);
  save(lab, 1, "a", 1);
  save(lab, 1, "b", 2);
  lab.exit(1);
  fill_nodes(lab);
  lab.rig.done(DeleteCheckpoints{{"b"}});
  ASSERT_TRUE(is_collecting(lab));
  const std::string why = error_of(continue_it(lab, "{searcher: {max_length: {batches: 2000}}}"));
  EXPECT_NE(why.find("is deleting checkpoint b, which trial 1 would go on from"), std::string::npos)
      << why;
  lab.rig.done(testing::cancel_of(collection(lab).job));
  lab.run_until_idle();
  EXPECT_EQ(error_of(continue_it(lab, "{searcher: {max_length: {batches: 2000}}}")), "");
}

// ---- budgets ----

/// Time passes, and the nodes are heard of.
void live(Lab& lab, Duration span) {
  const TimePoint end = lab.rig.now + span;
  while (lab.rig.now < end) {
    lab.rig.pass(std::min(Duration::seconds(10), end - lab.rig.now));
    for (const std::uint32_t node : {0U, 1U}) lab.rig.hear(node, Heartbeat{});
  }
  lab.run_until_idle();
}

TEST(Budgets, GpuHoursEndAnExperimentForGood) {
  Lab lab;
  lab.create(
      "{name: e, entrypoint: train, budget: {gpu_hours: 1}, hyperparameters: {}, searcher: {name: "
      "random, metric: loss, max_trials: 4, "
      "max_concurrent_trials: 2}}");
  live(lab, Duration::minutes(20));
  EXPECT_EQ(lab.experiment().state, ExperimentState::kActive);
  lab.exit(1);  // 20 minutes of it are used, and another trial begins
  live(lab, Duration::minutes(9));
  EXPECT_EQ(lab.experiment().state, ExperimentState::kActive);
  live(lab, Duration::minutes(1));  // 20 + 30 + 10 minutes
  EXPECT_EQ(lab.experiment().state, ExperimentState::kStoppingCanceled);
  EXPECT_EQ(lab.experiment().detail, "its budget of 1 GPU-hours is used up");
  live(lab, Duration::minutes(1));  // what does not stop by itself is made to
  for (const std::uint32_t trial : {2U, 3U}) lab.exit(trial, ExitStatus::signalled(15));
  EXPECT_EQ(lab.experiment().state, ExperimentState::kCanceled);
  EXPECT_EQ(lab.trial_count(), 3U);
}

TEST(Budgets, HoursCountFromTheSubmission) {
  Lab lab;
  lab.create(
      "{name: e, entrypoint: train, budget: {wall_hours: 2}, searcher: {name: single, metric: "
      "loss}}",
      true);
  live(lab, Duration::hours(2) - Duration::seconds(1));
  EXPECT_EQ(lab.experiment().state, ExperimentState::kPaused);
  live(lab, Duration::seconds(1));
  EXPECT_EQ(lab.experiment().state, ExperimentState::kCanceled);
  EXPECT_EQ(lab.experiment().detail, "its budget of 2 hours is used up");
}

TEST(Budgets, AStepOfTheClockNeitherHastensNorDelaysTheirEnd) {
  Lab lab;
  lab.create(
      "{name: e, entrypoint: train, budget: {wall_hours: 2}, searcher: {name: single, metric: "
      "loss}}",
      true);
  live(lab, Duration::hours(1));
  for (const Duration step : {Duration::hours(24 * 30), Duration::hours(-1)}) {
    testing::Rig next(testing::config_of(2), lab.rig.stored(), Duration(), CoreStart{"", step});
    next.connect_all();
    const auto state = [&] { return next.core.state().experiments().find(ExperimentId(1))->state; };
    next.live(Duration::minutes(59));
    EXPECT_EQ(state(), ExperimentState::kPaused) << step.microseconds();
    next.live(Duration::minutes(2));
    EXPECT_EQ(state(), ExperimentState::kCanceled) << step.microseconds();
  }
}

// ---- shares ----

TEST(Shares, PriorityOrdersOnesOwnTrialsAlone) {
  Lab lab;
  // Four slots are there; all are taken.
  lab.create(
      "{name: a, entrypoint: train, searcher: {name: random, metric: l, max_trials: 6, "
      "max_concurrent_trials: 6}, hyperparameters: {}}");
  lab.create(
      "{name: b, entrypoint: train, resources: {priority: 10}, searcher: {name: single, metric: "
      "l}}");
  ASSERT_FALSE(lab.runs(5) || lab.runs(7));
  lab.exit(1);
  EXPECT_TRUE(lab.runs(7)) << "the later experiment is the more important one";
  UpdateExperiment update;
  update.experiment = ExperimentId(2);
  update.priority = 100;
  EXPECT_NE(error_of(lab.rig.done(update)).find("from 1 to 99"), std::string::npos);
  update.priority.reset();
  update.weight = 0;
  EXPECT_NE(error_of(lab.rig.done(update)).find("above 0"), std::string::npos);
}

TEST(Shares, TheyChangeLive) {
  Lab lab;
  lab.create(
      "{name: a, entrypoint: train, searcher: {name: random, metric: l, max_trials: 6, "
      "max_concurrent_trials: 6}, hyperparameters: {}}");
  lab.create(
      "{name: b, entrypoint: train, searcher: {name: random, metric: l, max_trials: 2, "
      "max_concurrent_trials: 2}, hyperparameters: {}}");
  lab.exit(1);
  EXPECT_TRUE(lab.runs(5)) << "who came first goes first";
  UpdateExperiment update;
  update.experiment = ExperimentId(2);
  update.weight = 8;
  lab.rig.done(update);
  lab.run_until_idle();
  lab.exit(2);
  EXPECT_TRUE(lab.runs(7)) << "the heavier has less for its weight";
  update.weight = 1;
  lab.rig.done(update);
  lab.run_until_idle();
  lab.exit(3);
  EXPECT_TRUE(lab.runs(6));
}

// ---- supervisors that are lost ----

TEST(TrialFailures, ARunThatLosesEachOfItsSupervisorsIsNotTriedForEver) {
  Lab lab;
  lab.create(
      "{name: e, entrypoint: train, max_restarts: 1, searcher: {name: single, metric: loss}}");
  int runs = 0;
  for (; runs < 20 && lab.experiment().state == ExperimentState::kActive; ++runs) {
    ASSERT_TRUE(lab.runs(1)) << runs;
    StepDone lost;
    lost.id = lab.rig.batch_step(lab.job(1).id);
    lost.tasks = {ExitStatus::signalled(9)};
    lost.is_lost = lost.is_node_fault = true;
    lab.rig.hear(lab.job(1).run->allocation->nodes.front().node.value(), lost);
    lab.rig.live(lab.rig.core.state().settings().requeue_delay + Duration::seconds(1));
    lab.run_until_idle();
  }
  EXPECT_EQ(lab.experiment().state, ExperimentState::kError);
  EXPECT_EQ(runs, 6)
      << "four are the nodes' fault, two its own: one more than it may be tried again";
}

}  // namespace
}  // namespace muster

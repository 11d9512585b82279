// Searches that their clients decide, trials that are resized, and experiments of other clusters.
#include <gtest/gtest.h>

#include "controller/experiments/testing.h"
#include "search/custom_search.h"

namespace muster {
namespace {

using testing::hash_after_restart;
using testing::kAlice;
using testing::kBob;
using testing::kRoot;
using testing::Lab;

constexpr const char* kCustom =
    "{name: e, entrypoint: train, searcher: {name: custom, metric: loss, time_metric: epochs, "
    "max_concurrent_trials: 4}}";

Reply operate(Lab& lab, OperationsInput input, Identity who = kAlice) {
  Reply reply = lab.rig.done(OperateSearch{ExperimentId(1), std::move(input)}, who);
  lab.run_until_idle();
  return reply;
}
std::string refusal_of(const Reply& reply) { return reply.error ? reply.error->text() : ""; }

// ---- custom search ----

TEST(CustomSearch, ItsClientsOperationsBecomeTrials) {
  Lab lab;
  lab.create(kCustom);
  EXPECT_EQ(lab.trial_count(), 0U);
  EXPECT_EQ(lab.experiment().state, ExperimentState::kActive) << "it waits for its client";
  EXPECT_EQ(refusal_of(operate(lab, {1,
                                     {{SearchVerb::kCreate, "a", R"({"lr": 0.5})"},
                                      {SearchVerb::kValidateAfter, "a", "", "", 3}}})),
            "");
  ASSERT_EQ(lab.trial_count(), 1U);
  EXPECT_TRUE(lab.runs(1));
  EXPECT_EQ(lab.trial(1).hparams, R"({"lr": 0.5})");
  EXPECT_EQ(lab.trial(1).target, 3U);
  lab.report(1, 0.5, 3);
  EXPECT_TRUE(lab.trial(1).is_waiting);
  lab.exit(1);
  EXPECT_FALSE(lab.trial(1).is_over()) << "it waits at its target";
  operate(lab, {3, {{SearchVerb::kClose, "a"}}});
  EXPECT_EQ(lab.trial(1).state, TrialState::kCompleted);
  operate(lab, {4, {{SearchVerb::kShutDown, ""}}});
  EXPECT_EQ(lab.experiment().state, ExperimentState::kCompleted);
  EXPECT_EQ(refusal_of(operate(lab, {4, {{SearchVerb::kShutDown, ""}}})), "")
      << "what has ended does nothing more";
  EXPECT_EQ(hash_after_restart(lab), lab.rig.core.state().hash());
}

TEST(CustomSearch, OperationsSurviveARestartBeforeTheyAreDecidedUpon) {
  Lab lab;
  lab.create(kCustom);
  lab.rig.done(OperateSearch{
      ExperimentId(1),
      {1, {{SearchVerb::kCreate, "a", "{}"}, {SearchVerb::kValidateAfter, "a", "", "", 3}}}});
  Lab again(lab.rig.stored());
  EXPECT_EQ(again.trial_count(), 1U);
}

TEST(CustomSearch, OnlyItsOwnerOperatesIt) {
  Lab lab;
  lab.create(kCustom);
  EXPECT_EQ(operate(lab, {1, {}}, kBob).error->code, ErrorCode::kPermissionDenied);
  Lab other;
  other.create(testing::random_search(1, 1));
  EXPECT_NE(refusal_of(operate(other, {1, {}})).find("experiment 1 decides by random"),
            std::string::npos);
}

TEST(CustomSearch, WhatCannotBeReadIsRefusedAndKillsNobody) {
  Lab lab;
  lab.create(kCustom);
  SearchOperation close{SearchVerb::kClose, "a", "no json"};
  EXPECT_NE(check_operations({1, {close}}).error().text().find("from its creation"),
            std::string::npos);
  // As an older journal may hold it.
  operate(lab, {1, {{SearchVerb::kCreate, "a", "{}"}, close}});
  EXPECT_EQ(lab.experiment().covered, 2U);
}

TEST(CustomSearch, WhatATrialWillBeginWithIsKept) {
  Lab lab;
  const ExperimentId old = lab.create(
      "{name: o, entrypoint: train, searcher: {name: single, metric: loss, max_length: {batches: "
      "1}}}");
  const Checkpoint saved{"aaa", TrialId(1), 1, 1, CheckpointState::kCompleted, {}, 7, "{}", "{}"};
  lab.rig.done(RecordCheckpoint{saved, false});
  lab.exit(1);
  lab.create(kCustom);
  const SearchOperation warm{SearchVerb::kCreate, "a", "{}", "aaa"};
  EXPECT_EQ(refusal_of(lab.rig.done(OperateSearch{ExperimentId(old.value() + 1), {1, {warm}}})),
            "");
  EXPECT_NE(refusal_of(lab.rig.done(DeleteCheckpoints{{"aaa"}}))
                .find("a trial of experiment 2 will begin with"),
            std::string::npos);
  lab.run_until_idle();
  EXPECT_NE(refusal_of(lab.rig.done(DeleteCheckpoints{{"aaa"}}))
                .find("a trial of experiment 2 will begin with"),
            std::string::npos);
}

TEST(Batches, RequestsAboutExperimentsStandAlone) {
  Lab lab;
  lab.create(kCustom);
  const auto token = lab.rig.ask({OperateSearch{ExperimentId(1), {1, {}}},
                                  ControlExperiments{ExperimentVerb::kKill, {ExperimentId(1)}}});
  lab.rig.flush();
  for (const Reply& reply : lab.rig.replies.at(token))
    EXPECT_NE(refusal_of(reply).find("stands alone"), std::string::npos);
  EXPECT_EQ(lab.experiment().state, ExperimentState::kActive);
}

TEST(CustomSearch, ACheckpointToBeginWithIsWholeOrRefused) {
  Lab lab;
  lab.create(kCustom);
  SearchOperation create{SearchVerb::kCreate, "a", "{}", "nowhere"};
  EXPECT_NE(refusal_of(operate(lab, {1, {create}})).find("there is no checkpoint nowhere"),
            std::string::npos);
}

// ---- elastic trials ----

/// Slots are GPUs: the rig's two nodes have two each.
std::string elastic(std::uint32_t min, std::uint32_t max) {
  return "{name: e, entrypoint: train, resources: {slots_per_trial: {min: " + std::to_string(min) +
         ", max: " + std::to_string(max) +
         "}}, searcher: {name: single, metric: loss, max_length: {batches: 10}}}";
}
std::uint32_t gpus_of(const Job& job) {
  std::uint32_t count = 0;
  for (const NodeGrant& grant : job.run->allocation->nodes) {
    for (const GresGrant& gres : grant.gres)
      count += static_cast<std::uint32_t>(gres.devices.count());
  }
  return count;
}
constexpr const char* kOneGpu =
    "{name: o, entrypoint: train, resources: {slots_per_trial: 1}, searcher: {name: single, "
    "metric: loss, max_length: {batches: 10}}}";

/// Time passes while the nodes are well.
void pass(Lab& lab, Duration span) {
  constexpr Duration kBeat = Duration::seconds(4);
  for (Duration passed; passed < span; passed = passed + kBeat) {
    for (const std::uint32_t node : {0U, 1U}) lab.rig.hear(node, Heartbeat{});
    lab.rig.pass(kBeat);
  }
  lab.run_until_idle();
}

TEST(Elastic, ATrialTakesTheMostThatIsFree) {
  Lab lab;
  lab.create(elastic(1, 4));
  ASSERT_TRUE(lab.runs(1));
  EXPECT_EQ(gpus_of(lab.job(1)), 4U);
}

TEST(Elastic, AsManyAsThereAreMayBeFewerThanTheMost) {
  Lab lab;
  lab.create(elastic(2, 64));
  ASSERT_TRUE(lab.runs(1));
  EXPECT_EQ(gpus_of(lab.job(1)), 4U);
  EXPECT_EQ(slots_of(lab.trial(1), *lab.experiment().spec), 4U);
  EXPECT_TRUE(lab.ask(elastic(5, 64)).error.has_value()) << "five there never are";
  EXPECT_EQ(hash_after_restart(lab), lab.rig.core.state().hash());
}

TEST(Elastic, ATrialThatWaitsMakesDoWithLess) {
  Lab lab;
  lab.create(kOneGpu);
  ASSERT_TRUE(lab.runs(1));
  lab.create(elastic(2, 4));
  pass(lab, Duration::seconds(4));
  ASSERT_TRUE(lab.runs(2));
  EXPECT_EQ(gpus_of(lab.job(2)), 3U);
  EXPECT_EQ(slots_of(lab.trial(2), *lab.experiment(ExperimentId(2)).spec), 3U);
  EXPECT_EQ(hash_after_restart(lab), lab.rig.core.state().hash());
}

TEST(Elastic, ATrialWaitsWhereLessThanItsLeastIsFree) {
  Lab lab;
  for (int i = 0; i < 2; ++i) lab.create(kOneGpu);
  lab.create(elastic(3, 4));
  pass(lab, Duration::seconds(4));
  EXPECT_FALSE(lab.runs(3));
}

TEST(Elastic, ARunningTrialGrowsByACheckpointAndANewRunOncePerInterval) {
  Lab lab;
  lab.create(kOneGpu);
  lab.create(elastic(1, 4));
  pass(lab, Duration::seconds(4));
  ASSERT_TRUE(lab.runs(2));
  lab.exit(1);
  pass(lab, Duration::minutes(5));
  EXPECT_FALSE(lab.job(2).run->stop.has_value()) << "it has not run for ten minutes";
  pass(lab, Duration::minutes(6));
  ASSERT_TRUE(lab.job(2).run->stop.has_value());
  EXPECT_EQ(lab.job(2).run->stop->call, StopCall::kPreempt);
  EXPECT_EQ(gpus_of(lab.job(2)), 3U) << "until then it keeps what it has";
  lab.exit(2);
  ASSERT_TRUE(lab.runs(2));
  EXPECT_EQ(gpus_of(lab.job(2)), 4U);
  EXPECT_EQ(run_number(lab.job(2)), 2U);
  EXPECT_EQ(lab.trial(2).restarts, 0U) << "it is no failure";
}

TEST(Elastic, ARunningTrialMakesRoomForWhoWaits) {
  Lab lab;
  lab.create(elastic(1, 4));
  ASSERT_TRUE(lab.runs(1));
  pass(lab, Duration::minutes(11));
  lab.create(kOneGpu);
  pass(lab, Duration::seconds(4));
  ASSERT_TRUE(lab.job(1).run->stop.has_value());
  lab.exit(1);
  lab.run_until_idle();
  ASSERT_TRUE(lab.runs(1));
  ASSERT_TRUE(lab.runs(2));
  EXPECT_EQ(gpus_of(lab.job(1)), 3U);
}

TEST(Elastic, OneAtATimeIsInterruptedForWhoWaits) {
  Lab lab;
  for (int i = 0; i < 2; ++i) lab.create(elastic(1, 2));
  ASSERT_TRUE(lab.runs(1) && lab.runs(2));
  pass(lab, Duration::minutes(11));
  lab.create(kOneGpu);
  pass(lab, Duration::minutes(1));
  EXPECT_NE(lab.job(1).run->stop.has_value(), lab.job(2).run->stop.has_value())
      << "the first that stops is awaited";
}

TEST(Elastic, ATrialGoesOnWithTheNodesThatItsLogPoliciesLeave) {
  Lab lab;
  lab.create(elastic(1, 4));
  ASSERT_TRUE(lab.runs(1));
  lab.rig.done(
      RecordLogMatch{TrialId(1), NodeIndex(1), {1, "p", LogAction::kExcludeNode, "", "it broke"}},
      kRoot);
  lab.exit(1, ExitStatus::exited(1));
  pass(lab, Duration::seconds(4));
  ASSERT_TRUE(lab.runs(1)) << lab.trial(1).detail;
  EXPECT_EQ(gpus_of(lab.job(1)), 2U);
}

TEST(Elastic, ATrialThatIsContinuedAsksForWhatItsExperimentSays) {
  Lab lab;
  lab.create(kOneGpu);
  lab.create(elastic(1, 4));
  pass(lab, Duration::seconds(4));
  ASSERT_EQ(lab.trial(2).slots, 3U);
  lab.exit(2);
  auto prepared = prepare_continuation({ExperimentId(2), "searcher: {max_length: {batches: 20}}"},
                                       lab.rig.core.state());
  ASSERT_TRUE(prepared.has_value());
  EXPECT_EQ(refusal_of(lab.rig.done(std::move(prepared).value())), "");
  EXPECT_EQ(lab.trial(2).slots, 0U);
  pass(lab, Duration::seconds(4));
  ASSERT_TRUE(lab.runs(2));
  EXPECT_EQ(gpus_of(lab.job(2)), slots_of(lab.trial(2), *lab.experiment(ExperimentId(2)).spec));
}

// ---- imports ----

ImportExperiment import_of(const std::string& origin, std::uint32_t wish) {
  auto spec = std::make_shared<ExperimentSpec>();
  spec->user = kAlice.user;
  spec->config = R"({"name": "old"})";
  spec->metric = "loss";
  spec->run_folder = "/runs";
  spec->imported_from = origin;
  spec->job = testing::spec_of("old");
  ImportExperiment import;
  import.experiment.id = ExperimentId(wish);
  import.experiment.spec = std::move(spec);
  import.experiment.labels.name = "old";
  import.experiment.state = ExperimentState::kError;
  return import;
}
ImportTrial trial_under(ExperimentId experiment, std::uint32_t number) {
  ImportTrial import;
  import.trial.id = TrialId(number);
  import.trial.imported_from = std::to_string(number);
  import.trial.experiment = experiment;
  import.trial.hparams = "{}";
  return import;
}

TEST(Imports, TheyKeepTheirNumbersWhereThoseAreFreeAndAreTakenOnce) {
  Lab lab;
  const Reply first = lab.rig.done(import_of("c/12", 12), kRoot);
  EXPECT_EQ(first.experiment, ExperimentId(12));
  EXPECT_EQ(lab.rig.done(import_of("c/12", 12), kRoot).experiment, ExperimentId(12));
  EXPECT_EQ(lab.rig.done(import_of("c/5", 5), kRoot).experiment, ExperimentId(13))
      << "a number beyond it was given";
  const Reply trial = lab.rig.done(trial_under(first.experiment, 30), kRoot);
  EXPECT_EQ(trial.trial, TrialId(30));
  EXPECT_EQ(lab.rig.done(trial_under(first.experiment, 30), kRoot).trial, TrialId(30));
  EXPECT_EQ(lab.experiment(ExperimentId(12)).trials.size(), 1U);
  EXPECT_EQ(lab.experiment(ExperimentId(12)).state, ExperimentState::kError);
  EXPECT_EQ(hash_after_restart(lab), lab.rig.core.state().hash());
  EXPECT_EQ(lab.create(kOneGpu), ExperimentId(14)) << "new ones come after them";
}

TEST(Imports, CheckpointsCanBeBegunWith) {
  Lab lab;
  const ExperimentId old = lab.rig.done(import_of("c/1", 1), kRoot).experiment;
  const TrialId trial = lab.rig.done(trial_under(old, 1), kRoot).trial;
  const ImportCheckpoint checkpoint{
      {"aaa", trial, 1, 4, CheckpointState::kCompleted, {}, 7, "{}", "{}"}};
  EXPECT_EQ(refusal_of(lab.rig.done(checkpoint, kRoot)), "");
  EXPECT_EQ(refusal_of(lab.rig.done(checkpoint, kRoot)), "") << "again";
  lab.create(
      "{name: e, entrypoint: train, searcher: {name: single, metric: loss, source_checkpoint_uuid: "
      "aaa, max_length: {batches: 1}}}");
  EXPECT_EQ(lab.trial(2).source, "aaa");
}

TEST(Imports, OnlyAnOperatorTakesThemAndOnlyWhatIsNotOurs) {
  Lab lab;
  EXPECT_EQ(lab.rig.done(import_of("c/1", 1), kAlice).error->code, ErrorCode::kPermissionDenied);
  const ExperimentId own = lab.create(kOneGpu);
  EXPECT_NE(refusal_of(lab.rig.done(trial_under(own, 9), kRoot)).find("is our own"),
            std::string::npos);
  const ImportCheckpoint checkpoint{
      {"aaa", TrialId(1), 1, 4, CheckpointState::kCompleted, {}, 7, "{}", "{}"}};
  EXPECT_NE(refusal_of(lab.rig.done(checkpoint, kRoot)).find("trial 1 is our own"),
            std::string::npos);
}

TEST(Imports, WithoutItsCodeNothingIsForkedFromIt) {
  Lab lab;
  lab.rig.done(import_of("c/1", 1), kRoot);
  CreateExperiment fork;
  fork.config = testing::random_search(1, 1);
  fork.parent = ExperimentId(1);
  fork.job = testing::spec_of("base");
  LastBlob last;
  auto prepared = prepare_experiment(std::move(fork), kAlice, CallerNames{"alice", "users"}, last);
  ASSERT_TRUE(prepared.has_value());
  EXPECT_NE(refusal_of(lab.rig.done(std::move(prepared).value()))
                .find("the code of experiment 1 was not imported"),
            std::string::npos);
}

TEST(Imports, WhereMusterCannotReachNothingCountsAsDeleted) {
  Lab lab;
  ImportExperiment import = import_of("c/1", 1);
  auto spec = std::make_shared<ExperimentSpec>(*import.experiment.spec);
  spec->config = R"({"checkpoint_storage": {"type": "gcs", "bucket": "b"}})";
  import.experiment.spec = spec;
  lab.rig.done(import, kRoot);
  lab.rig.done(trial_under(ExperimentId(1), 1), kRoot);
  lab.rig.done(
      ImportCheckpoint{{"aaa", TrialId(1), 1, 4, CheckpointState::kCompleted, {}, 7, "{}", "{}"}},
      kRoot);
  EXPECT_NE(refusal_of(lab.rig.done(DeleteCheckpoints{{"aaa"}})).find("storage of type gcs"),
            std::string::npos);
  const Reply whole = lab.rig.done(ControlExperiments{ExperimentVerb::kDelete, {ExperimentId(1)}});
  EXPECT_NE(whole.experiments.at(0).error->text().find("storage of type gcs"), std::string::npos);
}

TEST(Imports, FoldersOfImportsAreNobodyElses) {
  Lab lab;
  lab.rig.done(import_of("c/12", 12), kRoot);
  EXPECT_TRUE(
      lab.experiment(ExperimentId(12)).spec->run_folder.starts_with("/runs/imported-c-12-"));
}

TEST(Imports, WhatEndedElsewhereIsNotContinuedHere) {
  Lab lab;
  lab.rig.done(import_of("c/1", 1), kRoot);
  auto prepared = prepare_continuation({ExperimentId(1), ""}, lab.rig.core.state());
  const std::string why = prepared.has_value()
                              ? refusal_of(lab.rig.done(std::move(prepared).value()))
                              : prepared.error().text();
  EXPECT_FALSE(why.empty());
}

}  // namespace
}  // namespace muster

// Experiments on a core, with the search role beside it: what is created, stopped, tried again and
// held, and that a start in the middle goes on with the same search.
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>

#include "controller/experiments/testing.h"
#include "platform/rules/log_retention.h"
#include "records/batch_codec.h"
#include "search/searcher.h"
#include "state/views.h"
#include "text/launch_size.h"
#include "trials/experiment_form.h"

namespace muster {
namespace {

using testing::cancel_of;
using testing::control_of;
using testing::halving;
using testing::hash_after_restart;
using testing::kAlice;
using testing::kBob;
using testing::kRoot;
using testing::Lab;
using testing::random_search;
using testing::Rig;
using testing::selector_of;

// ---- a search from its beginning to its end ----

TEST(Experiments, ARandomSearchKeepsAsManyTrialsAsItMayAndEndsWithTheLast) {
  Lab lab;
  const ExperimentId id = lab.create(random_search(3, 2));
  ASSERT_EQ(lab.trial_count(), 2U);
  EXPECT_TRUE(lab.runs(1) && lab.runs(2));
  EXPECT_EQ(lab.job(1).spec->name(), "e.0");
  EXPECT_NE(lab.trial(1).hparams, lab.trial(2).hparams);
  lab.exit(1);
  EXPECT_EQ(lab.trial(1).state, TrialState::kCompleted);
  ASSERT_EQ(lab.trial_count(), 3U);
  lab.exit(2);
  EXPECT_EQ(lab.experiment(id).state, ExperimentState::kActive);
  lab.exit(3);
  EXPECT_EQ(lab.experiment(id).state, ExperimentState::kCompleted);
  EXPECT_EQ(lab.experiment(id).open_trials, 0U);
  EXPECT_TRUE(lab.experiment(id).end_time.is_set());
}

TEST(Experiments, ATrialIsToldAllThatItNeeds) {
  Lab lab;
  lab.create(random_search(1, 1));
  const auto& launch = lab.rig.last_sent<LaunchStep>();
  const auto has = [&](std::string_view beginning) {
    return std::ranges::any_of(launch.variables,
                               [&](const std::string& one) { return one.starts_with(beginning); });
  };
  for (const char* variable : {"MUSTER_HPARAMS={\"lr\": ", "MUSTER_TRIAL_ID=1", "MUSTER_RUN_ID=1",
                               "MUSTER_ENTRYPOINT=train"}) {
    EXPECT_TRUE(has(variable)) << variable;
  }
  EXPECT_EQ(launch.job->get(JobText::kGresPerTask), "gpu:1");
}

TEST(Experiments, MaxSlotsBoundsTheTrialsAtOnce) {
  Lab lab;
  lab.create(
      "{name: e, entrypoint: train, resources: {slots_per_trial: 2, max_slots: 5}, "
      "hyperparameters: {lr: {type: double, minval: 0, "
      "maxval: 1}}, searcher: {name: random, metric: loss, max_trials: 9}}");
  EXPECT_EQ(lab.trial_count(), 2U);
  EXPECT_EQ(lab.job(1).run->allocation->cpu_count(), 2U);
}

TEST(Experiments, ALargeOneIsBegunPausedAndKilledWhole) {
  Lab lab;
  const ExperimentId id = lab.create(
      "{name: e, entrypoint: train, hyperparameters: {lr: {type: double, minval: 0, maxval: 1}}, "
      "searcher: {name: random, metric: loss, max_trials: 20000, max_concurrent_trials: 20000}}");
  EXPECT_EQ(lab.trial_count(), search::kConcurrentMax);
  const auto did = [&](ExperimentVerb verb) {
    return !lab.rig.done(ControlExperiments{verb, {id}}, kAlice).error;
  };
  EXPECT_TRUE(did(ExperimentVerb::kPause));
  EXPECT_TRUE(did(ExperimentVerb::kActivate));
  EXPECT_TRUE(did(ExperimentVerb::kKill));
  lab.run_until_idle();
  EXPECT_EQ(lab.experiment(id).open_trials, 4U)
      << "those on the nodes, until their processes are gone";
}

TEST(Experiments, TheLimitOfTrialsAtOnceIsLive) {
  Lab lab;
  lab.create(random_search(6, 1));
  UpdateExperiment update;
  update.experiment = ExperimentId(1);
  update.max_concurrent = 3;
  lab.rig.done(update);
  lab.run_until_idle();
  EXPECT_EQ(lab.trial_count(), 3U);
  update.max_concurrent = 1;
  lab.rig.done(update);
  lab.run_until_idle();
  lab.exit(1);
  EXPECT_EQ(lab.trial_count(), 3U);
}

TEST(Experiments, CodeThatIsTooLargeIsRefusedAtEveryDoor) {
  CreateExperiment create;
  create.config = random_search(1, 1);
  create.job = testing::spec_of("base");
  create.context = std::make_shared<const std::string>(kCodeBytesMax + 1, 'x');
  LastBlob last;
  const auto prepared =
      prepare_experiment(std::move(create), kAlice, CallerNames{"alice", "users"}, last);
  ASSERT_FALSE(prepared.has_value());
  EXPECT_EQ(prepared.error().text(),
            "the code comes to more than 56 MiB: name data and results in .detignore, or keep them "
            "outside of the folder");
}

// ---- what no report carries ----

Reply validate(Lab& lab, std::uint32_t trial, std::vector<NamedNumber> metrics) {
  ReportTrial report;
  report.trial = TrialId(trial);
  report.run = lab.job(trial).attempt + 1;
  report.metrics = std::move(metrics);
  Reply reply = lab.rig.done(report);
  lab.run_until_idle();
  return reply;
}

TEST(Experiments, AMetricThatTheFirstValidationLacksEndsTheExperiment) {
  Lab lab;
  lab.create(
      "{name: e, entrypoint: train, searcher: {name: random, metric: validation_los, max_trials: "
      "3}}");
  EXPECT_FALSE(validate(lab, 1, {{"validation_loss", 0.5}, {"epochs", 1}}).error);
  EXPECT_EQ(lab.experiment().state, ExperimentState::kStoppingError);
  EXPECT_EQ(lab.experiment().detail,
            "the first validation, of trial 1, lacks validation_los, the experiment's "
            "searcher.metric; reported were "
            "epochs, validation_loss; write searcher.metric: validation_loss");
  for (std::uint32_t id = 1; id <= lab.trial_count(); ++id) {
    if (lab.runs(id)) lab.exit(id);
  }
  EXPECT_EQ(lab.experiment().state, ExperimentState::kError);
  EXPECT_EQ(hash_after_restart(lab), lab.rig.core.state().hash());
}

TEST(Experiments, ATimeMetricThatTheFirstValidationLacksEndsTheExperiment) {
  Lab lab;
  lab.create(halving(true));
  EXPECT_FALSE(validate(lab, 1, {{"loss", 0.5}, {"epoch", 1}}).error);
  EXPECT_EQ(lab.experiment().state, ExperimentState::kStoppingError);
  EXPECT_NE(
      lab.experiment().detail.find(
          "lacks epochs, the experiment's searcher.time_metric; reported were epoch, loss; write "
          "searcher.time_metric: epoch"),
      std::string::npos)
      << lab.experiment().detail;
}

TEST(Experiments, AMetricThatNobodyReportedIsSaidAtTheEnd) {
  Lab lab;
  lab.create(random_search(2, 2));
  lab.exit(1);
  EXPECT_EQ(lab.experiment().detail, "");
  lab.exit(2);
  EXPECT_EQ(lab.experiment().state, ExperimentState::kCompleted);
  EXPECT_EQ(lab.experiment().detail,
            "no trial ever reported loss, its searcher.metric; what a script prints counts where a "
            "line has the step "
            "and loss under these very names, as in step=100 loss=0.5");
  EXPECT_EQ(hash_after_restart(lab), lab.rig.core.state().hash());
  Lab heard;
  heard.create(random_search(2, 2));
  heard.report(1, 0.5, 1);
  heard.exit(1);
  heard.exit(2);
  EXPECT_EQ(heard.experiment().state, ExperimentState::kCompleted);
  EXPECT_EQ(heard.experiment().detail, "");
}

TEST(Experiments, AValidationOfSomethingElseIsAllowedOnceTheMetricIsKnown) {
  Lab lab;
  lab.create(halving(true));
  lab.report(1, 0.5, 1);
  EXPECT_FALSE(validate(lab, 1, {{"accuracy", 0.5}}).error);
  EXPECT_NE(validate(lab, 1, {{"loss", 0.5}}).error->text().find("lacks epochs, the time metric"),
            std::string::npos);
  EXPECT_EQ(lab.experiment().state, ExperimentState::kActive);
}

// ---- failures ----

TEST(Experiments, AFailedRunIsTriedAgainAndCounts) {
  Lab lab;
  lab.create(random_search(1, 1, 1));
  lab.exit(1, ExitStatus::exited(3));
  EXPECT_EQ(lab.trial(1).restarts, 1U);
  EXPECT_EQ(lab.trial(1).state, TrialState::kActive);
  EXPECT_TRUE(lab.runs(1));
  EXPECT_EQ(lab.job(1).attempt, 1U);
  lab.exit(1, ExitStatus::exited(3));
  EXPECT_EQ(lab.trial(1).state, TrialState::kError);
  EXPECT_EQ(lab.trial(1).detail, "FAILED with exit code 3, after 1 restarts");
  EXPECT_EQ(lab.experiment().state, ExperimentState::kError);
}

TEST(Experiments, ANodesFaultDoesNotCount) {
  Lab lab;
  lab.create(random_search(1, 1, 0));
  const auto node = lab.job(1).run->allocation->nodes.front().node.value();
  StepDone done;
  done.id = lab.rig.batch_step(lab.trial(1).job);
  done.tasks = {ExitStatus::exited(1)};
  done.error = "the node cannot";
  done.is_node_fault = true;
  lab.rig.hear(node, done);
  lab.run_until_idle();
  EXPECT_EQ(lab.trial(1).state, TrialState::kActive);
  EXPECT_EQ(lab.trial(1).restarts, 0U);
  EXPECT_EQ(lab.job(1).attempt, 1U);
}

TEST(Experiments, OneGoodTrialMakesAnExperimentComplete) {
  Lab lab;
  lab.create(random_search(2, 2, 0));
  lab.exit(1, ExitStatus::exited(1));
  lab.exit(2);
  EXPECT_EQ(lab.experiment().state, ExperimentState::kCompleted);
}

TEST(Experiments, InvalidHyperparametersAreReplacedAndNotTriedAgain) {
  Lab lab;
  lab.create(random_search(1, 1));
  lab.rig.done(FlagTrial{TrialId(1), 1});
  lab.exit(1, ExitStatus::exited(1));
  EXPECT_EQ(lab.trial(1).state, TrialState::kCompleted);
  EXPECT_EQ(lab.job(1).attempt, 0U);
  EXPECT_EQ(lab.trial_count(), 2U);  // random search does not count such a trial
}

TEST(Experiments, AJobCancelledIsATrialCanceled) {
  Lab lab;
  lab.create(random_search(1, 1));
  const JobId job = lab.trial(1).job;
  lab.rig.done(cancel_of(job));
  lab.exit(1, ExitStatus::signalled(SIGTERM));
  EXPECT_EQ(lab.trial(1).state, TrialState::kCanceled);
  EXPECT_EQ(lab.experiment().state, ExperimentState::kCanceled);
}

// ---- rungs ----

TEST(Experiments, ATrialThatIsCutIsAskedToStopAndCompletes) {
  Lab lab;
  lab.create(halving(true));
  ASSERT_EQ(lab.trial_count(), 4U);
  for (std::uint32_t id = 1; id <= 4; ++id) EXPECT_EQ(lab.trial(id).awaits, 4.0);
  lab.report(1, 0.1, 4);
  EXPECT_FALSE(lab.trial(1).stop.has_value());
  EXPECT_EQ(lab.trial(1).awaits, 8.0);
  lab.report(2, 0.9, 4);
  ASSERT_TRUE(lab.trial(2).stop.has_value());
  EXPECT_EQ(lab.trial(2).stop->cause, StopCause::kRungCut);
  EXPECT_EQ(lab.stops_sent(), 1U);
  EXPECT_EQ(lab.rig.last_sent<StopStep>().call, StopCall::kSearch);
  EXPECT_EQ(lab.rig.last_sent<StopStep>().signal, SIGTERM);
  lab.exit(2, ExitStatus::signalled(SIGTERM));
  EXPECT_EQ(lab.trial(2).state, TrialState::kCompleted);
  EXPECT_EQ(lab.job(2).state, JobState::kCompleted);
}

TEST(Experiments, NotANumberRanksWorst) {
  Lab lab;
  lab.create(halving(true));
  lab.report(1, std::nan(""), 4);
  lab.report(2, 0.9, 4);
  EXPECT_FALSE(lab.trial(2).stop.has_value());
  lab.report(3, std::nan(""), 4);
  EXPECT_TRUE(lab.trial(3).stop.has_value());
}

TEST(Experiments, RepeatedAndStaleReportsChangeNoRung) {
  Lab lab;
  lab.create(halving(true));
  lab.report(1, 0.1, 4);
  lab.report(2, 0.2, 4);
  const std::uint64_t covered = lab.experiment().covered;
  lab.report(1, 0.1, 4);
  lab.report(1, 0.05, 3);
  EXPECT_EQ(lab.experiment().covered, covered);
  EXPECT_EQ(lab.report(1, 0.1, 9, 7).error->code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(lab.report(1, 0.1, 9, 0, kBob).error->code, ErrorCode::kPermissionDenied);
  ReportTrial blind{TrialId(1), 1, 5, {{"loss", 0.1}}};
  EXPECT_EQ(lab.rig.done(blind).error->code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(lab.experiment().covered, covered);
}

TEST(Experiments, ATrialWaitsAtItsRungUntilItIsPromoted) {
  Lab lab;
  lab.create(halving(false));
  ASSERT_EQ(lab.trial(1).target, 4U);
  lab.report(1, 0.5, 4);
  EXPECT_TRUE(lab.trial(1).is_waiting);
  EXPECT_EQ(lab.job(1).run->stop->call, StopCall::kRung);
  lab.exit(1);
  EXPECT_TRUE(lab.job(1).is_pending());
  EXPECT_NE(lab.job(1).flags & job_flag::kTrialHeld, 0);
  EXPECT_TRUE(lab.rig.done(control_of(JobVerb::kRelease, selector_of(lab.trial(1).job)))
                  .outcomes.at(0)
                  .error.has_value());
  lab.report(2, 0.1, 4);
  lab.exit(2);
  EXPECT_EQ(lab.trial(2).target, 8U);  // the best of two goes on
  EXPECT_TRUE(lab.runs(2));
  EXPECT_EQ(lab.job(2).attempt, 1U);
  EXPECT_TRUE(lab.trial(1).is_waiting);
}

TEST(Experiments, APromotionThatComesBeforeTheRunHasStoppedIsNotLost) {
  Lab lab;
  lab.create(halving(false));
  lab.report(1, 0.5, 4);
  lab.report(2, 0.1, 4);
  EXPECT_EQ(lab.trial(2).target, 8U);
  EXPECT_TRUE(lab.runs(2));
  lab.exit(2);
  EXPECT_TRUE(lab.runs(2));
  EXPECT_EQ(lab.job(2).attempt, 1U);
}

// ---- verbs ----

TEST(Experiments, PausedTrialsGoBackAndGoOnWhenActivated) {
  Lab lab;
  lab.create(random_search(6, 6));
  ASSERT_TRUE(lab.runs(1));
  ASSERT_FALSE(lab.runs(5));  // there are four GPUs
  lab.control(ExperimentVerb::kPause);
  EXPECT_EQ(lab.stops_sent(), 4U);
  for (std::uint32_t id = 1; id <= 4; ++id) lab.exit(id);
  for (std::uint32_t id = 1; id <= 6; ++id) {
    EXPECT_TRUE(lab.job(id).is_pending() && lab.job(id).is_held()) << id;
    EXPECT_EQ(lab.trial(id).state, TrialState::kActive);
  }
  EXPECT_EQ(lab.experiment().state, ExperimentState::kPaused);
  lab.control(ExperimentVerb::kActivate);
  EXPECT_TRUE(lab.runs(1));
  EXPECT_EQ(lab.job(1).attempt, 1U);
}

TEST(Experiments, AnExperimentMayBeCreatedPaused) {
  Lab lab;
  lab.create(random_search(2, 2), true);
  EXPECT_EQ(lab.trial_count(), 2U);
  EXPECT_TRUE(lab.job(1).is_held());
  lab.control(ExperimentVerb::kActivate);
  EXPECT_TRUE(lab.runs(1) && lab.runs(2));
}

TEST(Experiments, CancelLetsTrialsSaveAndMakesNoMore) {
  Lab lab;
  lab.create(random_search(9, 6));
  lab.control(ExperimentVerb::kCancel);
  EXPECT_EQ(lab.experiment().state, ExperimentState::kStoppingCanceled);
  EXPECT_EQ(lab.trial(5).state, TrialState::kCanceled);  // it had not begun
  for (std::uint32_t id = 1; id <= 4; ++id) lab.exit(id);
  EXPECT_EQ(lab.experiment().state, ExperimentState::kCanceled);
  EXPECT_EQ(lab.trial_count(), 6U);
  EXPECT_EQ(lab.trial(1).state, TrialState::kCanceled);
}

TEST(Experiments, KillEndsAtOnce) {
  Lab lab;
  lab.create(random_search(2, 2));
  lab.control(ExperimentVerb::kCancel);
  lab.control(ExperimentVerb::kKill);
  EXPECT_EQ(lab.rig.count_sent<TerminateJob>(0) + lab.rig.count_sent<TerminateJob>(1), 2U);
  lab.exit(1, ExitStatus::signalled(SIGKILL));
  lab.exit(2, ExitStatus::signalled(SIGKILL));
  EXPECT_EQ(lab.experiment().state, ExperimentState::kCanceled);
}

TEST(Experiments, WhoDoesNotStopInTimeIsEnded) {
  Lab lab;
  lab.create(
      "{name: e, entrypoint: train, preemption_timeout: 20, searcher: {name: single, metric: "
      "loss}}");
  lab.control(ExperimentVerb::kPause);
  lab.rig.pass(Duration::seconds(19));
  EXPECT_EQ(lab.rig.count_sent<TerminateJob>(0) + lab.rig.count_sent<TerminateJob>(1), 0U);
  lab.rig.pass(Duration::seconds(2));
  EXPECT_EQ(lab.rig.count_sent<TerminateJob>(0) + lab.rig.count_sent<TerminateJob>(1), 1U);
  lab.exit(1, ExitStatus::signalled(SIGKILL));
  EXPECT_TRUE(lab.job(1).is_pending() && lab.job(1).is_held());
  EXPECT_EQ(lab.trial(1).restarts, 0U);
}

TEST(Experiments, RequeueIsARequestToStop) {
  Lab lab;
  lab.create(random_search(1, 1));
  lab.rig.done(control_of(JobVerb::kRequeue, selector_of(lab.trial(1).job)));
  EXPECT_EQ(lab.job(1).run->stop->call, StopCall::kPreempt);
  lab.exit(1);
  EXPECT_TRUE(lab.runs(1));
  EXPECT_EQ(lab.job(1).attempt, 1U);
  EXPECT_EQ(lab.trial(1).restarts, 0U);
}

TEST(Experiments, ATimeLimitInterruptsATrialAndDoesNotEndIt) {
  Lab lab;
  lab.create(random_search(1, 1, 0));
  const JobId id = lab.trial(1).job;
  UpdateObject update;
  update.name = std::to_string(id.value());
  update.values = {{"TimeLimit", "2"}};
  EXPECT_FALSE(lab.rig.done(update, kRoot).error.has_value());
  lab.rig.pass(Duration::seconds(59));
  EXPECT_FALSE(lab.rig.job(id).run->stop.has_value());
  lab.rig.pass(Duration::seconds(2));
  ASSERT_TRUE(lab.rig.job(id).run->stop.has_value());
  EXPECT_EQ(lab.rig.job(id).run->stop->deadline, lab.rig.job(id).end_time);
  lab.rig.pass(Duration::seconds(60));  // it does not stop: its time is over
  lab.exit(1, ExitStatus::signalled(SIGKILL));
  EXPECT_EQ(lab.trial(1).state, TrialState::kActive);
  EXPECT_EQ(lab.trial(1).restarts, 0U);
  EXPECT_EQ(lab.job(1).attempt, 1U);
}

TEST(Experiments, OthersMayLookAndNotTouch) {
  Lab lab;
  lab.create(random_search(1, 1));
  const Reply reply =
      lab.rig.done(ControlExperiments{ExperimentVerb::kKill, {ExperimentId(1)}}, kBob);
  EXPECT_EQ(reply.experiments.at(0).error->code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(lab.rig.done(ControlExperiments{ExperimentVerb::kKill, {ExperimentId(9)}})
                .experiments.at(0)
                .error->code,
            ErrorCode::kNotFound);
}

// ---- what cannot be ----

TEST(Experiments, WhatCannotRunIsRefusedWhenItIsCreated) {
  Lab lab;
  EXPECT_NE(lab.ask("{name: e, entrypoint: x, resources: {resource_pool: gone}, searcher: {name: "
                    "single, metric: loss}}")
                .error->text()
                .find("gone"),
            std::string::npos);
  EXPECT_TRUE(lab.ask("{name: e, entrypoint: x, resources: {slots_per_trial: 99}, searcher: {name: "
                      "single, metric: loss}}")
                  .error.has_value());
  EXPECT_NE(lab.ask("{name: e, entrypoint: 'x {{hp.lr}}', searcher: {name: single, metric: loss}}")
                .error->text()
                .find("{{hp.lr}}"),
            std::string::npos);
  EXPECT_NE(lab.ask("{name: e, entrypoint: x, resources: {priority: 300}, searcher: {name: single, "
                    "metric: loss}}")
                .error->text()
                .find("resources.priority"),
            std::string::npos);
  EXPECT_EQ(lab.rig.core.state().experiments().experiments().size(), 0U);
}

// ---- crashes ----

/// The bytes of all decisions of a log.
std::vector<std::string> decisions_of(const std::vector<EventBatchRef>& journal) {
  std::vector<std::string> decisions;
  for (const EventBatchRef& batch : journal) {
    for (const Event& event : batch->events) {
      if (const auto* decided = get_if<SearchDecided>(&event.body)) {
        std::string text = *decided->state;
        for (const TrialPlan& plan : decided->created) text += plan.hparams;
        for (const StopTrial& stop : decided->stops)
          text += "stop " + std::to_string(stop.trial.value());
        decisions.push_back(std::move(text));
      }
    }
  }
  return decisions;
}

/// Trials in turn report and end, as they would with one at a time. `crash_at`: a new controller
/// takes over after so many reports.
std::vector<std::string> searched(const std::string& yaml, int crash_at) {
  auto lab = std::make_unique<Lab>();
  lab->create(yaml);
  int reports = 0;
  for (std::uint32_t id = 1; id <= lab->trial_count(); ++id) {
    for (int epoch = 1; epoch <= 8 && lab->runs(id) && !lab->job(id).run->stop; ++epoch) {
      lab->report(id, 1.0 / (id % 5 + epoch), epoch);
      if (++reports != crash_at) continue;
      auto stored = lab->rig.stored();
      lab = std::make_unique<Lab>(std::move(stored));
    }
    if (lab->runs(id)) lab->exit(id);
    if (lab->runs(id)) --id;  // promoted: it trains on
  }
  return decisions_of(lab->rig.journal);
}

TEST(Experiments, AStartInTheMiddleGoesOnWithTheSameSearch) {
  for (const std::string& method :
       {std::string("name: random, max_trials: 5"),
        std::string("name: async_halving, num_rungs: 3, max_trials: 8, divisor: 2, time_metric: "
                    "epochs, max_time: 8"),
        std::string("name: adaptive_asha, max_trials: 8, divisor: 2, time_metric: epochs, "
                    "max_time: 8, stop_once: false"),
        std::string("name: tpe, max_trials: 6, startup_trials: 2")}) {
    const std::string yaml =
        "{name: e, entrypoint: train, reproducibility: {experiment_seed: 7}, hyperparameters: {lr: "
        "{type: double, minval: 0, "
        "maxval: 1}}, searcher: {metric: loss, max_concurrent_trials: 1, " +
        method + "}}";
    const auto undisturbed = searched(yaml, -1);
    ASSERT_GT(undisturbed.size(), 2U) << method;
    for (int crash_at = 1; crash_at <= 12; ++crash_at)
      EXPECT_EQ(searched(yaml, crash_at), undisturbed)
          << method << ", crash after report " << crash_at;
  }
}

TEST(Experiments, ADecisionThatComesTwiceIsTakenOnce) {
  Lab lab;
  lab.create(random_search(3, 1));
  SearchDecision decision;
  decision.decided.experiment = ExperimentId(1);
  decision.decided.covered = 1;
  decision.decided.state = std::make_shared<const std::string>("x");
  decision.decided.created.push_back({TrialIndex(1), 0, 0, "{}", {}, {}});
  lab.rig.done(decision, kRoot);
  EXPECT_EQ(lab.trial_count(), 1U);
}

TEST(Experiments, AStopThatANodeDidNotHearIsToldAgain) {
  Lab lab;
  lab.create(random_search(1, 1));
  const auto node = lab.job(1).run->allocation->nodes.front().node.value();
  lab.control(ExperimentVerb::kPause);
  EXPECT_EQ(lab.stops_sent(), 1U);
  lab.rig.core.on_agent_lost(NodeIndex(node));
  lab.rig.connect(node, {KnownStep{lab.rig.batch_step(lab.trial(1).job), StepPhase::kRunning}});
  EXPECT_EQ(lab.stops_sent(), 2U);
}

// ---- sessions, checkpoints, the catalog ----

Checkpoint checkpoint_of(const char* uuid, std::uint32_t run, std::uint64_t steps,
                         CheckpointState state = CheckpointState::kCompleted) {
  return {uuid, TrialId(1), run, steps, state, TimePoint::from_seconds(5), 3, "{}", R"({"w": 3})"};
}

TEST(Experiments, ARunWithASessionGetsNoSignalAndSaysItselfThatItStops) {
  Lab lab;
  lab.create(random_search(1, 1));
  EXPECT_FALSE(lab.rig.done(RecordRun{TrialId(1), 1, RunSignal::kSession}).error);
  const std::size_t batches = lab.rig.journal.size();
  EXPECT_FALSE(lab.rig.done(RecordRun{TrialId(1), 1, RunSignal::kSession}).error);
  EXPECT_EQ(lab.rig.journal.size(), batches) << "a repeat is no event";
  EXPECT_TRUE(lab.rig.done(RecordRun{TrialId(1), 2, RunSignal::kSession}).error)
      << "of a run that is not there";
  lab.control(ExperimentVerb::kPause);
  EXPECT_EQ(lab.rig.last_sent<StopStep>().signal, 0);
  EXPECT_FALSE(lab.rig.done(RecordRun{TrialId(1), 1, RunSignal::kStopAcknowledged}).error);
  lab.exit(1);
  EXPECT_EQ(lab.trial(1).state, TrialState::kActive);
  EXPECT_TRUE(lab.job(1).is_pending() && lab.job(1).is_held());
}

TEST(Experiments, ARunWithASessionThatEndsWithoutAWordHasNotStoppedAsAsked) {
  for (const bool is_good : {true, false}) {
    Lab lab;
    lab.create(random_search(1, 1, 3));
    lab.rig.done(RecordRun{TrialId(1), 1, RunSignal::kSession});
    lab.control(ExperimentVerb::kPause);
    lab.exit(1, is_good ? ExitStatus() : ExitStatus::exited(1));
    EXPECT_EQ(lab.trial(1).state, is_good ? TrialState::kCompleted : TrialState::kActive);
    EXPECT_EQ(lab.trial(1).restarts, is_good ? 0U : 1U) << "its failure is its own";
  }
}

TEST(Experiments, ATrialAtItsTargetEndsWithItsCanceledExperiment) {
  Lab lab;
  lab.create(halving(false));
  lab.rig.done(RecordRun{TrialId(1), 1, RunSignal::kSession});
  lab.report(1, 0.5, 8);
  EXPECT_TRUE(lab.trial(1).is_waiting);
  lab.control(ExperimentVerb::kCancel);
  lab.exit(1);  // it had been done before it heard of it
  EXPECT_EQ(lab.trial(1).state, TrialState::kCompleted);
  for (std::uint32_t other = 2; other <= lab.trial_count(); ++other) {
    if (!lab.trial(other).is_over()) lab.exit(other);
  }
  EXPECT_EQ(lab.experiment().state, ExperimentState::kCanceled);
}

TEST(Experiments, ARunIsToldTheLastWholeCheckpoint) {
  Lab lab;
  lab.rig.core.serve_http({"http://127.0.0.1:1", "key", "00000000-0000-4000-8000-000000000000"});
  lab.create(random_search(1, 1, 3));
  const auto has = [&](std::string_view variable) {
    const auto& variables = lab.rig.last_sent<LaunchStep>().variables;
    return std::ranges::find(variables, variable) != variables.end();
  };
  EXPECT_TRUE(has("DET_TRIAL_RUN_ID=1"));
  EXPECT_FALSE(has("DET_LATEST_CHECKPOINT=a"));
  const auto record = [&](const Checkpoint& checkpoint) {
    return lab.rig.done(RecordCheckpoint{checkpoint, false}).error;
  };
  EXPECT_FALSE(record(checkpoint_of("a", 1, 0, CheckpointState::kActive)));
  EXPECT_FALSE(record(checkpoint_of("b", 1, 4)));
  EXPECT_FALSE(record(checkpoint_of("a", 1, 8)));
  EXPECT_FALSE(record(checkpoint_of("c", 1, 12, CheckpointState::kActive))) << "never finished";
  lab.exit(1, ExitStatus::exited(1));
  EXPECT_TRUE(has("DET_TRIAL_RUN_ID=2"));
  EXPECT_TRUE(has("DET_LATEST_CHECKPOINT=a"));
  EXPECT_TRUE(has("DET_STEPS_COMPLETED=8"));
  EXPECT_EQ(lab.rig.last_sent<LaunchStep>().private_folders,
            std::vector<std::string>{"/run/determined"});
}

TEST(Experiments, ACheckpointIsKnownOnceAndStaysAsItWasReported) {
  Lab lab;
  lab.create(random_search(1, 1));
  const auto record = [&](Checkpoint checkpoint, bool is_change = false, Identity who = kAlice) {
    return lab.rig.done(RecordCheckpoint{std::move(checkpoint), is_change}, who).error;
  };
  EXPECT_FALSE(record(checkpoint_of("a", 1, 4)));
  const std::size_t batches = lab.rig.journal.size();
  EXPECT_FALSE(record(checkpoint_of("a", 1, 4)));
  EXPECT_EQ(lab.rig.journal.size(), batches) << "a repeat is no event";
  Checkpoint other = checkpoint_of("a", 1, 4);
  other.resources = R"({"w": 4})";
  EXPECT_EQ(record(other)->code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(record(other, true, kBob)->code, ErrorCode::kPermissionDenied);
  EXPECT_FALSE(record(other, true));
  EXPECT_EQ(record(checkpoint_of("b", 7, 4))->code, ErrorCode::kFailedPrecondition)
      << "of a run that is not there";
}

TEST(Experiments, WhatIsKeptOfATrialIsItsOwnersToChange) {
  Lab lab;
  lab.create(random_search(1, 1));
  Document metadata;
  metadata.kind = DocumentKind::kRunMetadata;
  metadata.id = 1;
  metadata.body = "{}";
  EXPECT_EQ(lab.rig.done(StoreDocument{metadata}, kBob).error->code, ErrorCode::kPermissionDenied)
      << "also the first time";
  EXPECT_FALSE(lab.rig.done(StoreDocument{metadata}, kRoot).error) << "an operator may";
  EXPECT_FALSE(lab.rig.done(StoreDocument{metadata}).error) << "and takes nothing from the owner";
  metadata.id = 7;
  EXPECT_EQ(lab.rig.done(StoreDocument{metadata}).error->code, ErrorCode::kNotFound)
      << "of no trial";
}

TEST(Experiments, AChangeOfACheckpointDoesNotUndoItsEnd) {
  Lab lab;
  lab.create(random_search(1, 1));
  const Checkpoint announced = checkpoint_of("a", 1, 0, CheckpointState::kActive);
  ASSERT_FALSE(lab.rig.done(RecordCheckpoint{announced, false}).error);
  ASSERT_FALSE(lab.rig.done(RecordCheckpoint{checkpoint_of("a", 1, 4), false}).error);
  Checkpoint changed = announced;  // as it was seen before it was finished
  changed.metadata = R"({"note": 1})";
  EXPECT_EQ(lab.rig.done(RecordCheckpoint{changed, true}).error->code, ErrorCode::kConflict);
  EXPECT_EQ(lab.rig.core.state().checkpoints().find("a")->state, CheckpointState::kCompleted);
}

TEST(Experiments, ACheckpointThatAModelNamesIsKept) {
  Lab lab;
  lab.create(random_search(1, 1));
  lab.rig.done(RecordCheckpoint{checkpoint_of("a", 1, 4), false});
  Document model;
  model.name = "m";
  model.body = "{}";
  const Reply stored = lab.rig.done(StoreDocument{model});
  ASSERT_FALSE(stored.error) << stored.error->text();
  EXPECT_EQ(stored.document, 1U);
  EXPECT_EQ(lab.rig.done(StoreDocument{model}).error->code, ErrorCode::kAlreadyExists);
  Document version;
  version.kind = DocumentKind::kModelVersion;
  version.parent = 1;
  version.checkpoints = {"none"};
  EXPECT_EQ(lab.rig.done(StoreDocument{version}).error->code, ErrorCode::kNotFound);
  version.checkpoints = {"a"};
  for (const std::uint32_t number : {1U, 2U}) {
    const Reply added = lab.rig.done(StoreDocument{version});
    ASSERT_FALSE(added.error) << added.error->text();
    EXPECT_EQ(
        lab.rig.core.state().catalog().find(DocumentKind::kModelVersion, added.document)->number,
        number);
  }
  Checkpoint deleted = checkpoint_of("a", 1, 4);
  deleted.state = CheckpointState::kDeleted;
  EXPECT_EQ(lab.rig.done(RecordCheckpoint{deleted, true}).error->code,
            ErrorCode::kFailedPrecondition);
  EXPECT_EQ(lab.rig.done(DeleteDocument{DocumentKind::kModel, 1}, kBob).error->code,
            ErrorCode::kPermissionDenied);
  EXPECT_FALSE(lab.rig.done(DeleteDocument{DocumentKind::kModel, 1}).error);
  EXPECT_TRUE(lab.rig.core.state().catalog().documents().empty()) << "with its versions";
  EXPECT_FALSE(lab.rig.done(RecordCheckpoint{deleted, true}).error);
  EXPECT_EQ(lab.rig.done(StoreDocument{model}).document, 2U) << "numbers are given once";
}

TEST(Experiments, AChangeOfADocumentDoesNotUndoAnother) {
  Lab lab;
  Document model;
  model.name = "m";
  model.body = "{}";
  model.id = lab.rig.done(StoreDocument{model}).document;
  const auto stored = [&] {
    return *lab.rig.core.state().catalog().find(DocumentKind::kModel, model.id);
  };
  const Document read = stored();
  Document first = read;
  first.body = R"({"notes": "a"})";
  EXPECT_FALSE(lab.rig.done(StoreDocument{first}).error);
  Document second = read;
  second.body = R"({"description": "b"})";
  EXPECT_EQ(lab.rig.done(StoreDocument{second}).error->code, ErrorCode::kConflict);
  EXPECT_EQ(stored().body, first.body);
  EXPECT_GT(stored().change_time, read.change_time) << "also within one microsecond";
  second.change_time = stored().change_time;
  EXPECT_FALSE(lab.rig.done(StoreDocument{second}).error);
  EXPECT_EQ(stored().body, second.body);
}

TEST(Experiments, ATrialWhoseJobHasLeftMemoryHasNoRunToSpeakFor) {
  // Runs count from 1: number 0 is what a trial without a job has, and is nobody's.
  Lab lab;
  lab.create(random_search(1, 1));
  lab.exit(1);
  lab.rig.live(Duration::hours(1));
  ASSERT_EQ(lab.rig.core.state().jobs().find(lab.trial(1).job), nullptr);
  for (const std::uint32_t run : {0U, 1U, UINT32_MAX}) {
    EXPECT_EQ(lab.rig.done(FlagTrial{TrialId(1), run}).error->code, ErrorCode::kFailedPrecondition);
    ReportTrial report{TrialId(1), run, 1, {{"loss", 0.5}}};
    EXPECT_EQ(lab.rig.done(report).error->code, ErrorCode::kFailedPrecondition);
  }
}

}  // namespace
}  // namespace muster

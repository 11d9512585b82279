// What each event of experiments, trials and searches does, by the present rules; what is implied
// by earlier ones stands in cluster_state_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "state/testing.h"

namespace muster {
namespace {

using testing::at;
using testing::grant_of;
using testing::Log;
using testing::spec_of;

/// One experiment with trials that its search has made, each with its job.
class Lab {
 public:
  explicit Lab(std::uint32_t trials = 2, bool smaller_is_better = true) {
    log.add({EpochStarted{Epoch(2), "", kEventRules}});
    auto spec = std::make_shared<ExperimentSpec>();
    spec->job = spec_of("e");
    spec->smaller_is_better = smaller_is_better;
    spec->slots_per_trial = 4;
    spec->run_folder = "/tmp/runs";
    spec->retention.trial_best = 3;
    spec->log_retention_days = 14;
    ExperimentCreated created;
    created.experiment = id;
    created.spec = spec;
    created.labels.name = "e";
    log.add({created, SearchAsked{id, {SearchBegun{}}}});
    SearchDecided decided = decision(1);
    for (std::uint32_t i = 0; i < trials; ++i)
      decided.created.push_back(TrialPlan{TrialIndex(i), i + 100, 0, R"({"lr": 1})", 8, {}});
    std::vector<EventBody> batch{decided};
    for (std::uint32_t i = 0; i < trials; ++i) {
      JobSubmitted submitted;
      submitted.job = JobId(log.state().next_job().value() + i);
      auto job = spec_of("e." + std::to_string(i));
      job->trial = TrialId(i + 1);
      submitted.spec = job;
      submitted.partitions = {PartitionIndex(0)};
      batch.emplace_back(submitted);
    }
    log.add(batch);
  }

  SearchDecided decision(std::uint64_t covered) const {
    SearchDecided decided;
    decided.experiment = id;
    decided.covered = covered;
    decided.state = std::make_shared<const std::string>("memory");
    decided.first_trial = log.state().next_trial();
    return decided;
  }
  ExperimentChanged change() const {
    ExperimentChanged changed;
    changed.experiment = id;
    return changed;
  }
  const Experiment& experiment() const { return *log.state().experiments().find(id); }
  const Trial& trial(std::uint32_t number) const {
    return *log.state().experiments().find(TrialId(number));
  }
  JobId job(std::uint32_t number) const { return trial(number).job; }
  void report(std::uint32_t number, double metric, double units, bool is_at_target = false) {
    log.add({TrialReported{TrialId(number), {metric, units}, true, is_at_target}});
  }
  void end(std::uint32_t number, TrialState state = TrialState::kCompleted) {
    log.add({TrialEnded{TrialId(number), state, TrialExit::kCompleted, "over"}});
  }
  void kill_all() {
    for (const TrialId trial : experiment().trials) end(trial.value(), TrialState::kCanceled);
    log.add({ExperimentEnded{id, ExperimentState::kCanceled}});
  }

  Log log;
  ExperimentId id = ExperimentId(1);
};

TEST(ExperimentCreated, HasWhatItsSpecificationSays) {
  const Lab lab;
  const Experiment& experiment = lab.experiment();
  EXPECT_EQ(experiment.name(), "e");
  EXPECT_EQ(experiment.state, ExperimentState::kActive);
  EXPECT_EQ(experiment.retention.trial_best, 3U);
  EXPECT_EQ(experiment.log_retention_days, 14);
  EXPECT_EQ(experiment.trials, (std::vector{TrialId(1), TrialId(2)}));
  EXPECT_EQ(experiment.open_trials, 2U);
  EXPECT_TRUE(experiment.inputs.empty());
  EXPECT_EQ(experiment.covered, 1U);
  EXPECT_EQ(*experiment.search_state, "memory");
  EXPECT_EQ(lab.log.state().next_experiment(), ExperimentId(2));
  EXPECT_EQ(lab.log.state().next_trial(), TrialId(3));
}

TEST(TrialCreated, IsItsPlanAndKnowsItsJob) {
  Lab lab;
  SearchDecided decided = lab.decision(1);
  TrialPlan plan{TrialIndex(2), 5, 1, "{}", {}, TrialIndex(0), "uuid", true};
  decided.created = {plan};
  lab.log.add({decided});
  const Trial& copy = lab.trial(3);
  EXPECT_EQ(copy.index, TrialIndex(2));
  EXPECT_EQ(copy.seed, 5U);
  EXPECT_EQ(copy.bracket, 1U);
  EXPECT_FALSE(copy.target.has_value());
  EXPECT_EQ(copy.clone_of, TrialIndex(0));
  EXPECT_EQ(copy.source, "uuid");
  EXPECT_TRUE(copy.awaits_source);
  EXPECT_EQ(copy.job, JobId(0)) << "none is submitted yet";
  EXPECT_EQ(lab.job(1), JobId(1));
  EXPECT_EQ(lab.experiment().open_trials, 3U);
  lab.log.add({TrialSourced{TrialId(3), "other"}});
  EXPECT_EQ(lab.trial(3).source, "other");
  EXPECT_FALSE(lab.trial(3).awaits_source);
}

TEST(ExperimentChanged, EachFieldAlone) {
  Lab lab;
  const auto changed = [&](auto&& set) -> const Experiment& {
    ExperimentChanged change = lab.change();
    set(change);
    const std::uint64_t hash = lab.log.state().experiments().hash();
    lab.log.add({change});
    EXPECT_NE(lab.log.state().experiments().hash(), hash) << "each shows in the hash";
    return lab.experiment();
  };
  ExperimentLabels labels;
  labels.name = "renamed";
  EXPECT_EQ(changed([&](auto& c) { c.labels = labels; }).name(), "renamed");
  EXPECT_EQ(changed([](auto& c) { c.state = ExperimentState::kPaused; }).state,
            ExperimentState::kPaused);
  EXPECT_EQ(changed([](auto& c) { c.detail = "why"; }).detail, "why");
  EXPECT_EQ(changed([](auto& c) { c.share = ExperimentShare{7, 2.5}; }).share.priority, 7U);
  EXPECT_EQ(changed([](auto& c) { c.max_slots = 16; }).max_slots, 16U);
  EXPECT_TRUE(changed([](auto& c) { c.is_collected = true; }).is_collected);
  EXPECT_FALSE(changed([](auto& c) {
                 c.retention = CheckpointRetention{1, 2, 3};
               }).is_collected)
      << "what another retention keeps is to be looked at anew";
  EXPECT_EQ(lab.experiment().retention.trial_latest, 3U);
}

TEST(ExperimentChanged, ALimitIsNoInputOfItsOwn) {
  Lab lab;
  ExperimentChanged change = lab.change();
  change.max_concurrent = 3;
  lab.log.add({change});
  EXPECT_TRUE(lab.experiment().inputs.empty()) << "the search is asked by an event";
}

TEST(SearchDecided, TakesAsManyInputsAsItCovers) {
  Lab lab;
  lab.log.add({SearchAsked{lab.id, {LimitInput{1}, LimitInput{2}, LimitInput{3}}}});
  EXPECT_EQ(lab.experiment().inputs.size(), 3U);
  lab.log.add({lab.decision(3)});
  EXPECT_EQ(lab.experiment().covered, 3U);
  ASSERT_EQ(lab.experiment().inputs.size(), 1U);
  EXPECT_EQ(std::get<LimitInput>(lab.experiment().inputs.front()).max_concurrent, 3U);
  EXPECT_DEATH(lab.log.add({lab.decision(5)}), "decides upon 5 inputs of 4");
  EXPECT_DEATH(lab.log.add({lab.decision(2)}), "decides upon 2 inputs of 4");
}

TEST(SearchDecided, StopsContinuesAndAwaitsItsTrials) {
  Lab lab;
  lab.report(1, 0.5, 8, true);
  EXPECT_TRUE(lab.trial(1).is_waiting);
  SearchDecided decided = lab.decision(1);
  decided.progress = 0.5;
  decided.continued = {{TrialIndex(0), 16}};
  decided.stops = {{TrialIndex(1), {StopCause::kRungCut, 0, 1, 2, 1, 2}}};
  decided.awaits = {{TrialIndex(0), 12.0}};
  lab.log.add({decided});
  EXPECT_FALSE(lab.trial(1).is_waiting);
  EXPECT_EQ(lab.trial(1).target, 16U);
  EXPECT_EQ(lab.trial(1).awaits, 12.0);
  ASSERT_TRUE(lab.trial(2).stop.has_value());
  EXPECT_EQ(lab.trial(2).stop->rank, 2U);
  EXPECT_FALSE(lab.trial(2).is_over()) << "its run ends first";
  EXPECT_EQ(lab.experiment().progress, 0.5);
  decided.awaits = {{TrialIndex(0), {}}};
  decided.outcome = SearchOutcome::kCompleted;
  lab.log.add({decided});
  EXPECT_FALSE(lab.trial(1).awaits.has_value());
  EXPECT_EQ(lab.experiment().outcome, SearchOutcome::kCompleted);
  EXPECT_EQ(lab.experiment().state, ExperimentState::kActive) << "its trials are not over";
}

TEST(TrialReported, RemembersTheLastAndTheBest) {
  Lab lab;
  lab.report(1, 0.5, 1);
  lab.report(1, 0.25, 2);
  lab.report(1, 0.75, 3);
  EXPECT_EQ(lab.trial(1).metric, 0.75);
  EXPECT_EQ(lab.trial(1).best_metric, 0.25);
  EXPECT_EQ(lab.trial(1).units, 3);
  lab.report(1, std::numeric_limits<double>::quiet_NaN(), 4);
  EXPECT_TRUE(std::isnan(*lab.trial(1).metric));
  EXPECT_EQ(lab.trial(1).best_metric, 0.25) << "NaN is no best";
  lab.report(1, 0.9, 5);
  EXPECT_EQ(lab.trial(1).best_metric, 0.25);
}

TEST(TrialReported, TheBestIsTheLargestWhereMoreIsBetter) {
  Lab lab(1, false);
  for (const double metric : {0.5, 0.75, 0.25}) lab.report(1, metric, 1);
  EXPECT_EQ(lab.trial(1).best_metric, 0.75);
  Lab first;
  first.report(1, std::numeric_limits<double>::quiet_NaN(), 1);
  EXPECT_FALSE(first.trial(1).best_metric.has_value());
  first.report(1, 2, 2);
  EXPECT_EQ(first.trial(1).best_metric, 2) << "the NaN before it does not count";
}

TEST(TrialEnded, IsOverAndWaitsForNothing) {
  Lab lab;
  SearchDecided decided = lab.decision(1);
  decided.awaits = {{TrialIndex(0), 12.0}};
  lab.log.add({decided});
  lab.report(1, 1, 8, true);
  lab.log.start(lab.job(1), {grant_of(0, 0, 1)});
  lab.end(1, TrialState::kError);
  const Trial& trial = lab.trial(1);
  EXPECT_TRUE(trial.is_over());
  EXPECT_EQ(trial.detail, "over");
  EXPECT_EQ(trial.end_time, lab.log.state().time());
  EXPECT_FALSE(trial.awaits.has_value() || trial.is_waiting || trial.awaits_source);
  EXPECT_EQ(trial.last_run, 1U) << "counted on by a trial that is continued";
  EXPECT_EQ(lab.experiment().open_trials, 1U);
  lab.end(2);
  EXPECT_EQ(lab.trial(2).last_run, 0U) << "it never ran";
  EXPECT_EQ(lab.experiment().state, ExperimentState::kActive) << "its end is an event of its own";
  EXPECT_DEATH(lab.end(2), "trial 2 ends twice");
}

TEST(TrialFlagged, SaysThatItsHyperparametersMakeNoSense) {
  Lab lab;
  lab.log.add({TrialFlagged{TrialId(2)}});
  EXPECT_TRUE(lab.trial(2).is_invalid);
  EXPECT_FALSE(lab.trial(1).is_invalid);
}

TEST(TrialResized, HasOtherSlotsFromThenOn) {
  Lab lab;
  EXPECT_EQ(slots_of(lab.trial(1), *lab.experiment().spec), 4U);
  lab.log.add({TrialResized{TrialId(1), 2}});
  EXPECT_EQ(slots_of(lab.trial(1), *lab.experiment().spec), 2U);
  EXPECT_EQ(lab.trial(1).resize_time, lab.log.state().time());
  EXPECT_DEATH(lab.log.add({TrialResized{TrialId(1), 0}}), "cannot have 0 slots");
  lab.end(1);
  EXPECT_DEATH(lab.log.add({TrialResized{TrialId(1), 1}}), "cannot have 1 slots");
}

TEST(JobOfATrial, RunsCountAsItsRestartsAndUsage) {
  Lab lab;
  const JobId job = lab.job(1);
  lab.log.start(job, {grant_of(0, 0, 1)});
  JobEnding ending;
  ending.job = job;
  ending.state = JobState::kFailed;
  ending.is_clean = true;
  ending.requeue_after = true;
  ending.is_restart = true;
  lab.log.add({ending});
  EXPECT_EQ(lab.trial(1).restarts, 1U);
  EXPECT_EQ(lab.trial(1).failed_runs, std::vector<std::uint32_t>{1});
  EXPECT_EQ(lab.experiment().used_slot_time, Duration::seconds(4)) << "a second of four slots";
  lab.log.add({JobRequeued{job, at(0), 0}});
  lab.report(1, 1, 3);
  lab.log.start(job, {grant_of(0, 0, 1)});
  ending.is_restart = false;
  ending.is_early = true;
  lab.log.add({ending});
  EXPECT_EQ(lab.trial(1).restarts, 1U);
  EXPECT_EQ(lab.trial(1).ended_early_at, 3);
  EXPECT_EQ(lab.experiment().used_slot_time, Duration::seconds(8));
}

TEST(JobOfATrial, ThatNeverRanHasUsedNothing) {
  Lab lab;
  lab.log.end(lab.job(1), JobState::kCancelled, true);
  EXPECT_EQ(lab.experiment().used_slot_time, Duration());
}

TEST(JobOfATrial, ThereIsOneAtATime) {
  Lab lab;
  auto job = spec_of("second");
  job->trial = TrialId(1);
  EXPECT_DEATH(lab.log.submit(job), "trial 1 has job 1 already");
  job->trial = TrialId(9);
  EXPECT_DEATH(lab.log.submit(job), "no trial 9");
}

TEST(StopRequested, AndWhatTheRunSaysOfItself) {
  Lab lab;
  const JobId job = lab.job(1);
  lab.log.start(job, {grant_of(0, 0, 1)});
  lab.log.add({RunSignalled{job, RunSignal::kSession}});
  EXPECT_TRUE(lab.log.job(job).run->has_session);
  EXPECT_FALSE(lab.log.job(job).run->is_stop_acknowledged);
  lab.log.add({StopRequested{job, {StopCall::kPreempt, at(60)}}});
  lab.log.add({StopRequested{job, {StopCall::kCancel, at(30)}}});
  EXPECT_EQ(lab.log.job(job).run->stop->call, StopCall::kCancel) << "the stronger replaces it";
  EXPECT_EQ(lab.log.job(job).run->stop->deadline, at(30));
  lab.log.add({RunSignalled{job, RunSignal::kStopAcknowledged}});
  EXPECT_TRUE(lab.log.job(job).run->is_stop_acknowledged);
}

TEST(ExperimentEnded, ClosesItForGood) {
  Lab lab;
  EXPECT_DEATH(lab.log.add({ExperimentEnded{lab.id, ExperimentState::kCompleted}}),
               "cannot end now");
  lab.log.add({SearchAsked{lab.id, {LimitInput{1}}}});
  lab.end(1);
  lab.end(2);
  EXPECT_DEATH(lab.log.add({ExperimentEnded{lab.id, ExperimentState::kPaused}}), "cannot end now");
  lab.log.add({ExperimentEnded{lab.id, ExperimentState::kCompleted}});
  EXPECT_EQ(lab.experiment().state, ExperimentState::kCompleted);
  EXPECT_EQ(lab.experiment().end_time, lab.log.state().time());
  EXPECT_TRUE(lab.experiment().inputs.empty()) << "nobody decides upon them";
  EXPECT_DEATH(lab.log.add({SearchAsked{lab.id, {}}}), "is asked after its end");
  EXPECT_DEATH(lab.log.add({SearchOperated{lab.id, {}}}), "is operated after its end");
  ExperimentChanged change = lab.change();
  change.state = ExperimentState::kActive;
  EXPECT_DEATH(lab.log.add({change}), "cannot be in state 0 now");
  change.state = ExperimentState::kDeleting;
  lab.log.add({change});
  EXPECT_EQ(lab.experiment().state, ExperimentState::kDeleting);
}

TEST(ExperimentContinued, TriesTrialsAgainFromWhereTheyWere) {
  Lab lab;
  lab.report(1, 0.5, 3);
  lab.log.start(lab.job(1), {grant_of(0, 0, 1)});
  JobEnding ending;
  ending.job = lab.job(1);
  ending.state = JobState::kFailed;
  ending.is_clean = true;
  ending.is_restart = true;
  lab.log.add({ending});
  ExperimentContinued again;
  again.experiment = lab.id;
  auto spec = std::make_shared<ExperimentSpec>(*lab.experiment().spec);
  spec->max_restarts = 9;
  again.spec = spec;
  again.hparams = R"({"lr": 2})";
  again.trials = {{TrialId(1), TrialIndex(0), TrialExit::kErrored}};
  EXPECT_DEATH(lab.log.add({again}), "goes on before its end");
  lab.kill_all();
  EXPECT_EQ(lab.trial(1).last_run, 1U);
  lab.log.add({again});
  EXPECT_EQ(lab.experiment().state, ExperimentState::kActive);
  EXPECT_EQ(lab.experiment().spec->max_restarts, 9U);
  EXPECT_FALSE(lab.experiment().end_time.is_set());
  EXPECT_EQ(lab.experiment().open_trials, 1U);
  const Trial& trial = lab.trial(1);
  EXPECT_FALSE(trial.is_over());
  EXPECT_EQ(trial.job, JobId(0));
  EXPECT_EQ(trial.restarts, 0U);
  EXPECT_TRUE(trial.failed_runs.empty() && trial.detail.empty());
  EXPECT_EQ(trial.hparams, R"({"lr": 2})");
  EXPECT_EQ(trial.units, 3) << "what it has trained stays";
  EXPECT_EQ(trial.best_metric, 0.5);
  EXPECT_TRUE(lab.trial(2).is_over()) << "not named";
}

TEST(ExperimentContinued, ATrialThatStillRunsIsNotTriedAgain) {
  Lab lab;
  lab.kill_all();
  ExperimentContinued again;
  again.experiment = lab.id;
  again.spec = lab.experiment().spec;
  again.trials = {{TrialId(1), TrialIndex(0)}, {TrialId(1), TrialIndex(0)}};
  EXPECT_DEATH(lab.log.add({again}), "trial 1 is tried again before its end");
}

CheckpointRef checkpoint_of(const std::string& uuid, std::uint32_t trial,
                            CheckpointState state = CheckpointState::kCompleted) {
  return std::make_shared<const Checkpoint>(
      Checkpoint{uuid, TrialId(trial), 1, 4, state, at(20), 10, "{}", "{\"a\": 10}"});
}

TEST(ExperimentDeleted, TakesAllThatBelongsToItAlong) {
  Lab lab;
  EXPECT_DEATH(lab.log.add({ExperimentDeleted{lab.id}}), "deleted before its end");
  lab.log.add(
      {CheckpointRecorded{checkpoint_of("a", 1)}, CheckpointRecorded{checkpoint_of("b", 2)}});
  const auto document = [](DocumentKind kind, std::uint32_t id, std::uint32_t parent,
                           const char* name) {
    return DocumentStored{std::make_shared<const Document>(
        Document{kind, id, parent, 0, name, UserId(1), "ann", at(1), at(1), false, "{}"})};
  };
  lab.log.add({document(DocumentKind::kRunMetadata, 1, 0, "metadata"),
               document(DocumentKind::kCheckpointUse, 1, 2, "elsewhere"),
               document(DocumentKind::kCheckpointUse, 2, 77, "a/3/1"),
               document(DocumentKind::kCheckpointUse, 3, 77, "elsewhere")});
  lab.kill_all();
  lab.log.add({ExperimentDeleted{lab.id}});
  const ClusterState& state = lab.log.state();
  EXPECT_EQ(state.experiments().find(lab.id), nullptr);
  EXPECT_EQ(state.experiments().find(TrialId(1)), nullptr);
  EXPECT_EQ(state.checkpoints().find("a"), nullptr);
  EXPECT_EQ(state.catalog().find(DocumentKind::kRunMetadata, 1), nullptr);
  EXPECT_EQ(state.catalog().find(DocumentKind::kCheckpointUse, 1), nullptr) << "by its trial";
  EXPECT_EQ(state.catalog().find(DocumentKind::kCheckpointUse, 2), nullptr) << "of its checkpoint";
  EXPECT_NE(state.catalog().find(DocumentKind::kCheckpointUse, 3), nullptr) << "another's";
  EXPECT_EQ(state.next_experiment(), ExperimentId(2)) << "no number is given twice";
}

TEST(CollectionEnded, MarksWhatIsGoneAndLeavesWhatIsNot) {
  Lab lab;
  lab.log.add(
      {CheckpointRecorded{checkpoint_of("a", 1)}, CheckpointRecorded{checkpoint_of("b", 1)}});
  lab.log.add({CollectionBegun{{JobId(50), lab.id, false, {"a"}}},
               CollectionBegun{{JobId(51), lab.id, false, {"b"}}}});
  EXPECT_TRUE(lab.log.state().checkpoints().is_going("a"));
  lab.log.add({CollectionEnded{JobId(50), true}, CollectionEnded{JobId(51), false}});
  const CheckpointTable& table = lab.log.state().checkpoints();
  EXPECT_FALSE(table.is_going("a") || table.is_going("b"));
  EXPECT_EQ(table.find("a")->state, CheckpointState::kDeleted);
  EXPECT_EQ(table.find("a")->size, 0U);
  EXPECT_EQ(table.find("a")->resources, "{}");
  EXPECT_EQ(table.find("b")->state, CheckpointState::kCompleted) << "its job failed";
  EXPECT_DEATH(lab.log.add({CollectionEnded{JobId(50), true}}), "job 50 deletes no checkpoints");
}

TEST(LogRetentionSet, OfAllTrialsOverridesTheirOwn) {
  Lab lab;
  lab.log.add({LogRetentionSet{lab.id, TrialId(1), 3}});
  EXPECT_EQ(lab.trial(1).log_retention_days, 3);
  EXPECT_FALSE(lab.trial(2).log_retention_days.has_value());
  lab.log.add({LogRetentionSet{lab.id, TrialId(), 30}});
  EXPECT_EQ(lab.experiment().log_retention_days, 30);
  EXPECT_FALSE(lab.trial(1).log_retention_days.has_value());
}

TEST(LogMatched, AreInTheOrderInWhichTheyBecameKnown) {
  Lab lab;
  for (const char* policy : {"oom", "nan"})
    lab.log.add({LogMatched{TrialId(1), {1, policy, LogAction::kLabel, "n0", "line"}}});
  ASSERT_EQ(lab.trial(1).log_matches.size(), 2U);
  EXPECT_EQ(lab.trial(1).log_matches[1].policy, "nan");
}

TEST(ExperimentImported, IsAsItWasElsewhere) {
  Lab lab;
  ImportedExperiment from;
  from.id = ExperimentId(5);
  auto spec = std::make_shared<ExperimentSpec>(*lab.experiment().spec);
  spec->imported_from = "other/12";
  from.spec = spec;
  from.submit_time = at(-900);
  from.end_time = at(-100);
  ImportedTrial trial;
  trial.id = TrialId(8);
  trial.experiment = from.id;
  trial.imported_from = "34";
  trial.metric = 0.125;
  trial.units = 7;
  trial.last_run = 2;
  lab.log.add({ExperimentImported{from}, TrialImported{trial}});
  const ExperimentTable& table = lab.log.state().experiments();
  const Experiment* found = table.find_imported_experiment("other/12");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->id, from.id);
  EXPECT_EQ(found->submit_time, at(-900));
  EXPECT_EQ(found->progress, 1);
  EXPECT_TRUE(found->is_collected) << "the other cluster has kept what it kept";
  EXPECT_EQ(found->open_trials, 0U);
  EXPECT_EQ(table.find_imported_trial(from.id, "34")->best_metric, 0.125);
  EXPECT_EQ(table.find_imported_trial(from.id, "34")->index, TrialIndex(0));
  EXPECT_EQ(table.find_imported_trial(ExperimentId(1), "34"), nullptr);
  EXPECT_EQ(lab.log.state().next_trial(), TrialId(9));
  EXPECT_DEATH(lab.log.add({TrialImported{trial}}), "trial id 8 was given before");
  trial.id = TrialId(9);
  trial.state = TrialState::kActive;
  EXPECT_DEATH(lab.log.add({TrialImported{trial}}), "imported before its end");
  EXPECT_DEATH(lab.log.add({ExperimentImported{from}}), "experiment id 5 was given before");
  from.id = ExperimentId(9);
  from.state = ExperimentState::kPaused;
  EXPECT_DEATH(lab.log.add({ExperimentImported{from}}), "imported before its end");
}

TEST(ExperimentDeath, NumbersAndOrder) {
  Lab lab;
  SearchDecided decided = lab.decision(1);
  decided.created = {TrialPlan{TrialIndex(5), 1, 0, "{}", {}, {}}};
  EXPECT_DEATH(lab.log.add({decided}), "trial 5 of experiment 1 out of order");
  decided.created = {TrialPlan{TrialIndex(2), 1, 0, "{}", {}, {}}};
  decided.first_trial = TrialId(1);
  EXPECT_DEATH(lab.log.add({decided}), "trial id 1 was given before");
  decided.created.clear();
  decided.stops = {{TrialIndex(7), {}}};
  EXPECT_DEATH(lab.log.add({decided}), "experiment 1 has no trial 7");
  ExperimentCreated created;
  created.experiment = lab.id;
  created.spec = lab.experiment().spec;
  EXPECT_DEATH(lab.log.add({created}), "experiment id 1 was given before");
  EXPECT_DEATH(lab.log.add({TrialFlagged{TrialId(7)}}), "no trial 7");
  EXPECT_DEATH(lab.log.add({ExperimentEnded{ExperimentId(7)}}), "no experiment 7");
}

}  // namespace
}  // namespace muster

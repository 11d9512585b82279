// Searches that take trials further, against their definitions: how many trials, and how far each
// is trained, whatever kind of script trains them and wherever a controller dies.
#include <gtest/gtest.h>

#include <map>

#include "controller/experiments/testing.h"
#include "platform/rules/trial_rules.h"

namespace muster {
namespace {

using testing::hash_after_restart;
using testing::kAlice;
using testing::Lab;

enum class Script {
  kOperations,  ///< trains up to the target of its run and ends with exit code 0, asked or not, as
                ///< `searcher.operations()` has it
  kTrainer,     ///< the same, over a session: its exit answers no request to stop
  kOvershoots,  ///< trains until it is asked to stop
};

/// Trials that train in turn, an epoch each. What a trial has trained outlives its runs.
class Training {
 public:
  Training(Script script, int crash_at) : script_(script), crash_at_(crash_at) {}

  void run(const std::string& searcher) {
    lab_->create(
        "{name: e, entrypoint: train, reproducibility: {experiment_seed: 7}, hyperparameters: {lr: "
        "{type: double, minval: 0, "
        "maxval: 1}}, searcher: {metric: loss, " +
        searcher + "}}");
    int turns = 0;
    while (lab_->experiment().state == ExperimentState::kActive && ++turns < 10'000) {
      for (std::uint32_t id = 1; id <= lab_->trial_count(); ++id) step(id);
    }
    EXPECT_EQ(lab_->experiment().state, ExperimentState::kCompleted)
        << "after " << turns << " turns";
  }
  /// By how far they were trained, how many trials were.
  std::map<std::uint64_t, int> trained() const {
    std::map<std::uint64_t, int> counts;
    for (const auto& [id, trial] : lab_->rig.core.state().experiments().trials())
      ++counts[epochs_.at(id.value())];
    return counts;
  }
  std::uint64_t epochs() const {
    std::uint64_t sum = 0;
    for (const auto& [id, epochs] : epochs_) sum += epochs;
    return sum;
  }
  const Lab& lab() const { return *lab_; }
  Lab& lab() { return *lab_; }

 private:
  void step(std::uint32_t id) {
    if (!lab_->runs(id)) return;
    const std::uint64_t target = *lab_->trial(id).target;
    const bool had_target = targets_.contains(lab_->job(id).attempt + id * 1000);
    std::uint64_t& own = targets_[lab_->job(id).attempt + id * 1000];
    if (!had_target) {
      own = target;  // what the run was told at its launch
      if (script_ == Script::kTrainer)
        lab_->rig.done(RecordRun{TrialId(id), lab_->job(id).attempt + 1, RunSignal::kSession});
    }
    if (script_ == Script::kOvershoots && lab_->job(id).run->stop) return lab_->exit(id);
    if (epochs_[id] < own || script_ == Script::kOvershoots) {
      const auto epoch = static_cast<double>(++epochs_[id]);
      lab_->report(id, lab_->trial(id).seed % 1000 + 1 / epoch, epoch);
      if (++reports_ == crash_at_) {
        auto stored = lab_->rig.stored();
        lab_ = std::make_unique<Lab>(std::move(stored));
      }
    }
    if (script_ != Script::kOvershoots && epochs_[id] >= own && lab_->runs(id)) lab_->exit(id);
  }

  Script script_;
  int crash_at_;
  int reports_ = 0;
  std::map<std::uint32_t, std::uint64_t> epochs_;
  std::map<std::uint32_t, std::uint64_t> targets_;  ///< by trial and run
  std::unique_ptr<Lab> lab_ = std::make_unique<Lab>();
};

struct Definition {
  const char* searcher;
  std::map<std::uint64_t, int> trained;  ///< by epochs, how many trials
};

/// Jamieson and Talwalkar's successive halving, Hyperband's algorithm 1 for R = 27 and eta = 3,
/// Jaderberg's PBT with 8 members of whom the worst quarter is replaced after each round but the
/// last.
const std::vector<Definition> kDefinitions = {
    {"name: sync_halving, num_rungs: 4, max_trials: 27, divisor: 3, time_metric: epochs, max_time: "
     "27",
     {{1, 18}, {3, 6}, {9, 2}, {27, 1}}},
    {"name: hyperband, divisor: 3, time_metric: epochs, max_time: 27",
     {{1, 18}, {3, 14}, {9, 9}, {27, 8}}},
    {"name: pbt, population_size: 8, num_rounds: 5, time_metric: epochs, length_per_round: 5, "
     "replace_function: {truncate_fraction: 0.25}",
     {}},
};

std::uint64_t epochs_of(const std::map<std::uint64_t, int>& trained) {
  std::uint64_t sum = 0;
  for (const auto& [epochs, count] : trained) sum += epochs * static_cast<std::uint64_t>(count);
  return sum;
}

void expect_clean(Training& training, const std::string& what) {
  EXPECT_EQ(trial_findings(training.lab().rig.core.state()), std::vector<std::string>()) << what;
  for (const auto& [id, trial] : training.lab().rig.core.state().experiments().trials()) {
    EXPECT_EQ(trial.state, TrialState::kCompleted)
        << what << ", trial " << id.value() << ": " << trial.detail;
    EXPECT_TRUE(trial.stop.has_value()) << what << ", trial " << id.value() << " ended at "
                                        << trial.units << " of " << trial.target.value_or(0);
  }
  EXPECT_EQ(hash_after_restart(training.lab()), training.lab().rig.core.state().hash()) << what;
}

TEST(Promotion, HalvingTrainsEachTrialAsFarAsItsDefinitionSays) {
  for (const Definition& definition : kDefinitions) {
    if (definition.trained.empty()) continue;
    for (const Script script : {Script::kOperations, Script::kTrainer}) {
      for (const int crash_at : {-1, 5, 28, 29, 30, 60, 81}) {
        const std::string what = fmt::format("{}, script {}, crash at {}", definition.searcher,
                                             static_cast<int>(script), crash_at);
        Training training(script, crash_at);
        training.run(definition.searcher);
        EXPECT_EQ(training.trained(), definition.trained) << what;
        EXPECT_EQ(training.epochs(), epochs_of(definition.trained)) << what;
        expect_clean(training, what);
      }
    }
  }
}

TEST(Promotion, AScriptThatOvershootsIsTrainedAtLeastAsFar) {
  for (const Definition& definition : kDefinitions) {
    for (const int crash_at : {-1, 28, 60}) {
      Training training(Script::kOvershoots, crash_at);
      training.run(definition.searcher);
      expect_clean(training, definition.searcher);
      if (definition.trained.empty()) continue;
      int missing = 0;  // of those that go at least so far, counted from the farthest
      for (auto due = definition.trained.rbegin(); due != definition.trained.rend(); ++due) {
        missing += due->second;
        int found = 0;
        for (const auto& [epochs, count] : training.trained())
          found += epochs >= due->first ? count : 0;
        EXPECT_GE(found, missing) << definition.searcher << ", at least " << due->first
                                  << " epochs";
      }
    }
  }
}

TEST(Promotion, APopulationKeepsItsSizeAndTrainsAllRounds) {
  for (const Script script : {Script::kOperations, Script::kTrainer}) {
    for (const int crash_at : {-1, 39, 40, 41, 100}) {
      const std::string what =
          fmt::format("script {}, crash at {}", static_cast<int>(script), crash_at);
      Training training(script, crash_at);
      training.run(kDefinitions[2].searcher);
      EXPECT_EQ(training.lab().trial_count(), 16U)
          << what;                                 // 8, and 2 copies after each of 4 rounds
      EXPECT_EQ(training.epochs(), 200U) << what;  // 8 members x 5 rounds x 5 epochs
      expect_clean(training, what);
    }
  }
}

/// Promotion depends on the order of results, so each rung is held against the one below it: Li et
/// al., MLSys 2020, algorithm 2.
TEST(Promotion, AsynchronousHalvingPromotesTheBestOfEachRung) {
  for (const char* searcher :
       {"name: async_halving, num_rungs: 4, max_trials: 27, divisor: 3, time_metric: epochs, "
        "max_time: 27, stop_once: false",
        "name: adaptive_asha, max_trials: 16, divisor: 3, max_rungs: 3, mode: aggressive, "
        "time_metric: epochs, max_time: 9, stop_once: false"}) {
    for (const Script script : {Script::kOperations, Script::kTrainer, Script::kOvershoots}) {
      for (const int crash_at : {-1, 3, 10, 28}) {
        const std::string what =
            fmt::format("{}, script {}, crash at {}", searcher, static_cast<int>(script), crash_at);
        Training training(script, crash_at);
        training.run(searcher);
        expect_clean(training, what);
        std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>
            cuts;  // by bracket and rung
        for (const auto& [id, trial] : training.lab().rig.core.state().experiments().trials()) {
          if (trial.stop->cause == StopCause::kTrained) continue;
          EXPECT_EQ(trial.stop->cause, StopCause::kRungCut) << what;
          EXPECT_GE(trial.stop->rank, trial.stop->cut) << what << ": the best go on";
        }
        const auto trained = training.trained();
        const std::uint64_t farthest = trained.rbegin()->first;
        EXPECT_GE(farthest, searcher[5] == 'a' && searcher[6] == 's' ? 27U : 9U) << what;
        if (script == Script::kOvershoots) continue;
        for (const auto& [epochs, count] : trained)
          EXPECT_TRUE(epochs == 1 || epochs == 3 || epochs == 9 || epochs == 27)
              << what << ": " << epochs;
      }
    }
  }
}

// ---- the rule itself ----

const char* const kTwo =
    "{name: e, entrypoint: train, hyperparameters: {lr: {type: double, minval: 0, maxval: 1}}, "
    "searcher: {name: "
    "sync_halving, metric: loss, num_rungs: 2, max_trials: 2, divisor: 2, time_metric: epochs, "
    "max_time: 8}}";

TEST(Promotion, AScriptThatEndsTwiceWithoutProgressFails) {
  Lab lab;
  lab.create(kTwo);
  lab.report(1, 0.5, 2);
  lab.exit(1);
  EXPECT_TRUE(lab.runs(1)) << "it ended at 2 of 4 and runs again";
  EXPECT_EQ(lab.trial(1).restarts, 0U);
  lab.report(1, 0.4, 3);
  lab.exit(1);
  EXPECT_TRUE(lab.runs(1)) << "it got further";
  lab.exit(1);
  EXPECT_EQ(lab.trial(1).state, TrialState::kError);
  EXPECT_EQ(lab.trial(1).detail,
            "its script ended twice with exit code 0 at 3 of 4 without progress: it has to train "
            "on to the target of its run "
            "and report loss there");
  EXPECT_EQ(hash_after_restart(lab), lab.rig.core.state().hash());
}

TEST(Promotion, AScriptThatReportsNothingFailsAtItsSecondEnd) {
  Lab lab;
  lab.create(kTwo);
  lab.exit(1);
  EXPECT_TRUE(lab.runs(1));
  auto stored = lab.rig.stored();
  Lab again(std::move(stored));
  again.exit(1);
  EXPECT_EQ(again.trial(1).state, TrialState::kError) << "a restart does not forget the first";
  EXPECT_NE(again.trial(1).detail.find("at 0 of 4"), std::string::npos);
}

TEST(Promotion, WhatWasTrainedPastTheNextTargetCountsThereAtOnce) {
  Lab lab;
  lab.create(kTwo);
  lab.report(1, 0.5, 4);
  lab.report(1, 0.4, 9);  // it trains on before it hears that it should stop
  lab.exit(1);
  lab.report(2, 0.9, 4);
  lab.exit(2);
  EXPECT_EQ(lab.experiment().state, ExperimentState::kCompleted);
  EXPECT_EQ(lab.trial(1).stop->cause, StopCause::kTrained);
  EXPECT_EQ(lab.trial(1).last_run, 1U) << "no other run was needed for it";
}

TEST(Promotion, ATrialThatEndedShortIsFound) {
  Lab lab;
  lab.create(kTwo);
  ClusterState state;
  state.copy_from(lab.rig.core.state());
  EventBatch batch;
  batch.seq = Seq(state.seq().value() + 1);
  batch.events.push_back(
      {state.time(), TrialEnded{TrialId(1), TrialState::kCompleted, TrialExit::kCompleted, ""}});
  state.apply(batch);
  EXPECT_EQ(
      trial_findings(state),
      std::vector<std::string>{"trial 1 of experiment 1 is COMPLETED at 0, below its target of 4"});
}

}  // namespace
}  // namespace muster

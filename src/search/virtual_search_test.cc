#include "search/virtual_search.h"

#include <gtest/gtest.h>

#include "search/preview.h"
#include "search/testing.h"

namespace muster::search {
namespace {

using namespace testing;

const LearningCurve kByNumber = [](TrialIndex trial, const Json&, double) {
  return static_cast<double>(trial.value());
};

TEST(VirtualSearch, TrialsTrainSideBySide) {
  Searcher searcher(config_of(RandomSearch{5}, 2), one_real(), 1);
  const VirtualResult result = run_virtually(searcher, 10, kByNumber);
  ASSERT_EQ(result.trials.size(), 5U);
  EXPECT_EQ(result.makespan, 30) << "two, two and one";
  EXPECT_EQ(result.total_units(), 50);
  EXPECT_EQ(result.trials[3].metric, 3);
  EXPECT_EQ(result.trials[3].stop, std::nullopt) << "it ended by itself";
  EXPECT_EQ(result.outcome, SearchOutcome::kCompleted);
}

TEST(VirtualSearch, AStoppedTrialHasTrainedToItsRung) {
  Searcher searcher(config_of(AsyncHalving{2, 4, 2, 4, false}, 1), one_real(), 1);
  const VirtualResult result = run_virtually(searcher, 100, kByNumber);
  ASSERT_EQ(result.trials.size(), 4U);
  EXPECT_EQ(result.trials[0].units, 4) << "the first goes on";
  EXPECT_EQ(result.trials[0].stop->cause, StopCause::kTrained);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(result.trials[i].units, 2) << i;
    EXPECT_EQ(result.trials[i].stop->cause, StopCause::kRungCut) << i;
  }
  EXPECT_EQ(result.makespan, 10);
}

TEST(VirtualSearch, ATrialThatEndsBeforeItsRungEndsThere) {
  Searcher searcher(config_of(AsyncHalving{2, 3, 2, 40, false}, 3), one_real(), 1);
  const VirtualResult result = run_virtually(searcher, 5, kByNumber);
  for (const VirtualTrial& one : result.trials) EXPECT_EQ(one.units, 5);
  EXPECT_EQ(result.makespan, 5);
}

TEST(VirtualSearch, TrialsThatWaitGoOnWhereTheyWere) {
  Searcher searcher(config_of(SyncHalving{2, 4, 2, 6}, 2), one_real(), 1);
  const VirtualResult result = run_virtually(searcher, 100, kByNumber);
  ASSERT_EQ(result.trials.size(), 4U);
  EXPECT_EQ(result.total_units(), 2 * 6 + 2 * 3);
  EXPECT_EQ(result.makespan, 9) << "four to 3 in pairs, two on to 6";
}

TEST(VirtualSearch, TheSameRunIsTheSame) {
  const auto run = [] {
    Searcher searcher(config_of(Hyperband{3, 27}, 4), one_real(), 9);
    return run_virtually(searcher, 27, [](TrialIndex, const Json& hparams, double units) {
      return *hparams.find("x")->number() / units;
    });
  };
  const VirtualResult one = run();
  const VirtualResult other = run();
  ASSERT_EQ(one.trials.size(), other.trials.size());
  for (std::size_t i = 0; i < one.trials.size(); ++i) {
    EXPECT_EQ(one.trials[i].hparams, other.trials[i].hparams);
    EXPECT_EQ(one.trials[i].units, other.trials[i].units);
  }
  EXPECT_EQ(one.makespan, other.makespan);
}

TEST(Preview, SaysHowManyTrainAtOnceAndHowFar) {
  const PreviewRun random = preview_run(config_of(RandomSearch{7}, 3), one_real(), 1, 10);
  EXPECT_EQ(random.at_once, 3U);
  EXPECT_EQ(random.result.trials.size(), 7U);
  EXPECT_EQ(random.result.total_units(), 70);
  const PreviewRun halving = preview_run(config_of(SyncHalving{3, 9, 3, 9}, 0), one_real(), 1, 100);
  EXPECT_EQ(halving.result.trials.size(), 9U);
  EXPECT_EQ(halving.result.total_units(), 6 * 1 + 2 * 3 + 1 * 9);
}

TEST(Preview, ParzenEstimatorsArePreviewedAsChance) {
  const PreviewRun guided = preview_run(config_of(TpeSearch{12, 2, 9}, 4), one_real(), 3, 10);
  const PreviewRun random = preview_run(config_of(RandomSearch{12}, 4), one_real(), 3, 10);
  ASSERT_EQ(guided.result.trials.size(), random.result.trials.size());
  EXPECT_EQ(guided.at_once, random.at_once);
  for (std::size_t i = 0; i < guided.result.trials.size(); ++i)
    EXPECT_EQ(guided.result.trials[i].hparams, random.result.trials[i].hparams);
}

TEST(Preview, TheSeedDecides) {
  const auto hparams = [](std::uint64_t seed) {
    return preview_run(config_of(RandomSearch{1}), one_real(), seed, 1).result.trials[0].hparams;
  };
  EXPECT_EQ(hparams(1), hparams(1));
  EXPECT_NE(hparams(1), hparams(2));
}

}  // namespace
}  // namespace muster::search

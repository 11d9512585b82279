#include "search/population_training.h"

#include <gtest/gtest.h>

#include "search/hyper_sample.h"
#include "search/testing.h"

#include <set>

namespace muster::search {
namespace {

const HyperSpace kSpace{{{"a"}, DoubleDomain{0, 1, {}}}};
const Json kOriginal{Json::Object{{"a", 0.5}}};

/// What copies of the original train with.
std::set<double> values_of_copies(const PopulationTraining& config) {
  Rng rng(1);
  std::set<double> values;
  for (int i = 0; i < 200; ++i)
    values.insert(*explore(kSpace, kOriginal, config, rng).find("a")->number());
  return values;
}

TEST(Explore, PerturbsByTheFactorUpAndDown) {
  PopulationTraining config;
  config.resample_probability = 0;
  config.perturb_factor = 0.2;
  EXPECT_EQ(values_of_copies(config), (std::set<double>{0.4, 0.6}));
}

TEST(Explore, ResamplesAsOftenAsIsAsked) {
  PopulationTraining config;
  config.perturb_factor = 0;
  config.resample_probability = 1;
  const std::set<double> anew = values_of_copies(config);
  EXPECT_EQ(anew.size(), 200U) << "each is drawn";
  EXPECT_FALSE(anew.contains(0.5));
  config.resample_probability = 0.3;
  const std::size_t drawn = values_of_copies(config).size() - 1;
  EXPECT_GT(drawn, 30U);
  EXPECT_LT(drawn, 90U);
}

TEST(Explore, StaysInEveryDomain) {
  const HyperSpace space{{{"choice"}, CategoricalDomain{{"x", "y"}}},
                         {{"fixed"}, ConstDomain{3}},
                         {{"log"}, LogDomain{10, -3, -1, {}}},
                         {{"real"}, DoubleDomain{0.9, 1, {}}},
                         {{"whole"}, IntDomain{1, 9, {}}}};
  PopulationTraining config;
  config.resample_probability = 0;
  config.perturb_factor = 0.5;
  Rng rng(2);
  Json hparams = sample(space, rng);
  const Json chosen = *hparams.find("choice");
  for (int i = 0; i < 500; ++i) {
    hparams = explore(space, hparams, config, rng);
    EXPECT_EQ(*hparams.find("choice"), chosen) << "a category changes only when resampled";
    EXPECT_EQ(*hparams.find("fixed"), Json(3));
    const double power = *hparams.find("log")->number();
    EXPECT_TRUE(power >= 1e-3 && power <= 0.1 * (1 + 1e-12)) << power;
    const double real = *hparams.find("real")->number();
    EXPECT_TRUE(real >= 0.9 && real <= 1) << real;
    const std::int64_t whole = *hparams.find("whole")->whole();
    EXPECT_TRUE(whole >= 1 && whole <= 9) << whole;
  }
}

TEST(Explore, WholeNumbersMoveAwayFromWhereTheyWere) {
  const HyperSpace space{{{"n"}, IntDomain{1, 100, {}}}};
  PopulationTraining config;
  config.resample_probability = 0;
  config.perturb_factor = 0.01;
  Rng rng(3);
  std::set<std::int64_t> values;
  for (int i = 0; i < 50; ++i)
    values.insert(*explore(space, Json(Json::Object{{"n", 10}}), config, rng).find("n")->whole());
  EXPECT_EQ(values, (std::set<std::int64_t>{9, 11}));
}

TEST(Explore, WhatWasNotThereIsDrawn) {
  Rng rng(4);
  EXPECT_NE(explore(kSpace, Json(Json::Object{}), {}, rng).find("a"), nullptr);
}

using namespace testing;

SearchConfig population(std::uint32_t size, std::uint32_t rounds, double truncate) {
  return config_of(PopulationTraining{size, rounds, 5, truncate, 0, 0.2}, size);
}

TEST(Population, TheWorstGiveWayToCopiesOfTheBest) {
  Searcher searcher(population(4, 2, 0.25), one_real(), 1);
  const auto first = only<CreateTrial>(searcher.begin());
  ASSERT_EQ(first.size(), 4U);
  for (const CreateTrial& one : first) EXPECT_EQ(one.target, 5U);
  for (std::uint32_t i = 0; i < 3; ++i)
    EXPECT_TRUE(searcher.reported(trial(i), {0.1 * (i + 1), 5}).empty()) << "the round waits";
  const auto last = searcher.reported(trial(3), {0.9, 5});
  EXPECT_EQ(only<StopTrial>(last),
            (std::vector<StopTrial>{{trial(3), {StopCause::kReplaced, 0, 0, 3, 3, 4}}}));
  EXPECT_EQ(only<ContinueTrial>(last),
            (std::vector<ContinueTrial>{{trial(0), 10}, {trial(1), 10}, {trial(2), 10}}));
  const auto copies = only<CreateTrial>(last);
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(copies[0].clone_of, trial(0));
  EXPECT_EQ(copies[0].target, 5U) << "counted from its own beginning";
}

TEST(Population, AfterTheLastRoundAllHaveTrained) {
  Searcher searcher(population(2, 1, 0.5), one_real(), 1);
  searcher.begin();
  searcher.reported(trial(0), {0.5, 5});
  const auto last = searcher.reported(trial(1), {0.4, 5});
  const auto stops = only<StopTrial>(last);
  ASSERT_EQ(stops.size(), 2U);
  EXPECT_EQ(stops[0], (StopTrial{trial(1), {StopCause::kTrained, 0, 0, 0, 0, 2}}));
  EXPECT_EQ(only<FinishSearch>(last).size(), 1U);
}

TEST(Population, AFailureIsReplacedByACopyOfTheBest) {
  Searcher searcher(population(3, 2, 0), one_real(), 1);
  searcher.begin();
  searcher.reported(trial(0), {0.9, 5});
  searcher.exited(trial(2), TrialExit::kErrored, {});
  const auto last = searcher.reported(trial(1), {0.1, 5});
  EXPECT_TRUE(only<StopTrial>(last).empty()) << "nobody is cut, and what failed is over";
  const auto copies = only<CreateTrial>(last);
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(copies[0].clone_of, trial(1));
}

TEST(Population, WhenAllHaveFailedThereIsNothingToCopy) {
  Searcher searcher(population(2, 3, 0.5), one_real(), 1);
  searcher.begin();
  searcher.exited(trial(0), TrialExit::kErrored, {});
  const auto last = searcher.exited(trial(1), TrialExit::kErrored, {});
  EXPECT_EQ(only<FinishSearch>(last), (std::vector<FinishSearch>{{SearchOutcome::kFailed}}));
}

}  // namespace
}  // namespace muster::search

// Sizes as Determined computes them: its own test vectors.
#include "search/adaptive_asha.h"

#include <gtest/gtest.h>

#include "search/rungs.h"
#include "search/testing.h"
#include "search/virtual_search.h"

namespace muster::search {
namespace {

using namespace testing;
using Numbers = std::vector<std::uint32_t>;

TEST(SplitTrials, AsDetermined) {
  EXPECT_EQ(split_trials(20, 3, {3, 2, 1}), (Numbers{12, 5, 3}));
  EXPECT_EQ(split_trials(50, 3, {4, 3}), (Numbers{35, 15}));
  EXPECT_EQ(split_trials(50, 4, {3, 2}), (Numbers{37, 13}));
  EXPECT_EQ(split_trials(100, 4, {4, 3, 2}), (Numbers{70, 22, 8}));
}

TEST(SplitConcurrency, AsDetermined) {
  EXPECT_EQ(split_concurrency(0, 3, {9, 3, 1}), (Numbers{3, 3, 3}));
  EXPECT_EQ(split_concurrency(11, 3, {9, 3, 1}), (Numbers{4, 4, 3}));
  EXPECT_EQ(split_concurrency(0, 4, {40, 10}), (Numbers{10, 10}));
}

AdaptiveAsha adaptive(AshaMode mode, std::uint64_t max_time, std::uint32_t max_trials,
                      double divisor = 4, std::uint32_t max_rungs = 5) {
  AdaptiveAsha config;
  config.mode = mode;
  config.max_time = max_time;
  config.max_trials = max_trials;
  config.divisor = divisor;
  config.max_rungs = max_rungs;
  return config;
}

TEST(AdaptiveBrackets, AsDetermined) {
  const auto standard = adaptive_brackets(adaptive(AshaMode::kStandard, 100, 10));
  EXPECT_EQ(standard, (std::vector<BracketPlan>{{2, 7}, {1, 3}}));
  EXPECT_EQ(split_concurrency(2, 4, {7, 3}), (Numbers{1, 1}));
  const auto conservative = adaptive_brackets(adaptive(AshaMode::kConservative, 1000, 10, 3));
  EXPECT_EQ(conservative, (std::vector<BracketPlan>{{3, 7}, {2, 2}, {1, 1}}));
  EXPECT_EQ(split_concurrency(5, 3, {7, 2, 1}), (Numbers{2, 2, 1}));
  const auto aggressive = adaptive_brackets(adaptive(AshaMode::kAggressive, 1000, 10, 3));
  EXPECT_EQ(aggressive, (std::vector<BracketPlan>{{3, 10}}));
}

TEST(AdaptiveBrackets, ExplicitRungsAreTakenMostFirst) {
  AdaptiveAsha config = adaptive(AshaMode::kStandard, 900, 20, 3);
  config.bracket_rungs = {1, 3, 2};
  EXPECT_EQ(adaptive_brackets(config), (std::vector<BracketPlan>{{3, 12}, {2, 5}, {1, 3}}));
}

TEST(Rungs, AsDetermined) {
  using Units = std::vector<std::uint64_t>;
  EXPECT_EQ(rung_units(3, 9, 3), (Units{1, 3, 9}));
  EXPECT_EQ(rung_units(4, 10, 2), (Units{1, 2, 5, 10}));
  EXPECT_EQ(rung_units(1, 9, 3), (Units{9}));
  EXPECT_EQ(rung_units(3, 900, 3), (Units{100, 300, 900}));
}

TEST(Rungs, LogarithmsOfPowersAreWhole) {
  EXPECT_EQ(whole_log(243, 3), 5U) << "log 243 / log 3 is below 5 in doubles";
  EXPECT_EQ(whole_log(242, 3), 4U);
  EXPECT_EQ(whole_log(1, 3), 0U);
}

/// Determined's simulation vector: of ten trials five stop at 100 units, three at 300, two at 900.
/// Here the first to come is the best in both brackets, and in the one of seven the sixth is the
/// second best.
TEST(AdaptiveAsha, TrialsEndAtTheRungsThatDeterminedsSimulationGives) {
  Searcher searcher(config_of(adaptive(AshaMode::kStandard, 900, 10, 3, 10), 5), one_real(), 1);
  std::vector<std::uint32_t> bracket_of;
  std::vector<std::uint32_t> seen(2, 0);
  std::vector<std::uint32_t> place;
  std::map<double, int> ended_at;
  const auto record = [&](const std::vector<SearchAction>& actions) {
    for (const CreateTrial& create : only<CreateTrial>(actions)) {
      bracket_of.push_back(create.bracket);
      place.push_back(seen[create.bracket]++);
    }
  };
  auto first = searcher.begin();
  record(first);
  EXPECT_EQ(bracket_of, (Numbers{0, 0, 0, 1, 1})) << "five at once: three and two";
  const auto metric = [&](std::uint32_t i) {
    return bracket_of[i] == 0 ? (place[i] == 5 ? 1.5 : 1.0 + place[i]) : 1.0 + place[i];
  };
  for (std::uint32_t i = 0; i < bracket_of.size(); ++i) {
    for (;;) {
      const double units = *searcher.awaits(trial(i));
      const auto actions = searcher.reported(trial(i), {metric(i), units});
      record(actions);
      if (only<StopTrial>(actions).empty()) continue;
      ++ended_at[units];
      record(searcher.exited(trial(i), TrialExit::kCompleted, metric(i)));
      break;
    }
  }
  EXPECT_EQ(ended_at, (std::map<double, int>{{100, 5}, {300, 3}, {900, 2}}));
  EXPECT_TRUE(searcher.is_finished());
}

TEST(AdaptiveAsha, NeverMoreAtOnceThanAllowed) {
  Searcher searcher(config_of(adaptive(AshaMode::kConservative, 64, 40), 1), one_real(), 3);
  std::uint32_t most = 0;
  const LearningCurve curve = [&](TrialIndex, const Json& hparams, double) {
    most = std::max(most, searcher.training_count());
    return *hparams.find("x")->number();
  };
  const VirtualResult result = run_virtually(searcher, 64, curve);
  EXPECT_EQ(most, 1U);
  EXPECT_EQ(result.trials.size(), 40U);
}

}  // namespace
}  // namespace muster::search

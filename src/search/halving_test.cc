// Halving in its four forms: stopping, promoting, synchronous, and Hyperband's brackets.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "search/hyperband.h"
#include "search/testing.h"
#include "search/virtual_search.h"

namespace muster::search {
namespace {

using namespace testing;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The one stop in `actions`.
StopReason stop_in(const std::vector<SearchAction>& actions) {
  const auto stops = only<StopTrial>(actions);
  EXPECT_EQ(stops.size(), 1U);
  return stops.empty() ? StopReason{} : stops[0].reason;
}

Searcher stopping(std::uint32_t max_trials, std::uint32_t at_once, bool smaller_is_better = true) {
  SearchConfig config = config_of(AsyncHalving{3, max_trials, 3, 9, false}, at_once);
  config.smaller_is_better = smaller_is_better;
  return Searcher(config, one_real(), 1);
}

TEST(AsyncHalving, TheFirstToComeGoesOnAndAWorseOneStops) {
  Searcher searcher = stopping(9, 3);
  EXPECT_EQ(only<CreateTrial>(searcher.begin()).size(), 3U);
  EXPECT_EQ(searcher.awaits(trial(0)), 1.0);
  EXPECT_TRUE(searcher.reported(trial(0), {0.5, 1}).empty());
  EXPECT_EQ(searcher.awaits(trial(0)), 3.0);
  const auto actions = searcher.reported(trial(1), {0.6, 1});
  EXPECT_EQ(stop_in(actions), (StopReason{StopCause::kRungCut, 0, 0, 1, 1, 2}));
  EXPECT_EQ(only<CreateTrial>(actions).size(), 1U) << "its place is taken at once";
}

TEST(AsyncHalving, OneReportMayPassSeveralRungs) {
  Searcher searcher = stopping(9, 1);
  searcher.begin();
  EXPECT_EQ(stop_in(searcher.reported(trial(0), {0.5, 9})),
            (StopReason{StopCause::kTrained, 0, 2, 0, 0, 1}));
}

TEST(AsyncHalving, EqualMetricsGoOnTogether) {
  Searcher searcher = stopping(9, 4);
  searcher.begin();
  for (std::uint32_t i = 0; i < 4; ++i)
    EXPECT_TRUE(searcher.reported(trial(i), {0.5, 1}).empty()) << i;
}

TEST(AsyncHalving, NotANumberIsTheWorst) {
  for (const bool smaller_is_better : {true, false}) {
    Searcher searcher = stopping(9, 3, smaller_is_better);
    searcher.begin();
    EXPECT_TRUE(searcher.reported(trial(0), {kNan, 1}).empty()) << "the first goes on in any case";
    EXPECT_TRUE(searcher.reported(trial(1), {0.5, 1}).empty());
    EXPECT_FALSE(searcher.reported(trial(2), {kNan, 1}).empty());
  }
}

TEST(AsyncHalving, LargerIsBetterWhenSaid) {
  Searcher searcher = stopping(9, 3, false);
  searcher.begin();
  searcher.reported(trial(0), {0.5, 1});
  EXPECT_TRUE(searcher.reported(trial(1), {0.9, 1}).empty());
  EXPECT_FALSE(searcher.reported(trial(2), {0.1, 1}).empty());
}

TEST(AsyncHalving, RepeatedAndStaleReportsChangeNothing) {
  Searcher searcher = stopping(9, 3);
  searcher.begin();
  searcher.reported(trial(0), {0.5, 1});
  searcher.reported(trial(1), {0.6, 1});
  const std::string before = searcher.save();
  EXPECT_TRUE(searcher.reported(trial(0), {0.5, 1}).empty());
  EXPECT_TRUE(searcher.reported(trial(0), {0.1, 0.5}).empty());
  EXPECT_TRUE(searcher.reported(trial(0), {0.1, kNan}).empty());
  EXPECT_TRUE(searcher.reported(trial(1), {0.1, 9}).empty()) << "it has been stopped";
  EXPECT_TRUE(searcher.reported(trial(77), {0.1, 9}).empty()) << "there is no such trial";
  EXPECT_EQ(searcher.save(), before);
}

TEST(AsyncHalving, AFailureIsTheWorstAndIsReplaced) {
  Searcher searcher = stopping(4, 3);
  searcher.begin();
  EXPECT_EQ(only<CreateTrial>(searcher.exited(trial(0), TrialExit::kErrored, {})).size(), 1U);
  EXPECT_TRUE(searcher.reported(trial(1), {0.9, 1}).empty()) << "better than a failure";
  EXPECT_TRUE(only<CreateTrial>(searcher.exited(trial(2), TrialExit::kErrored, {})).empty())
      << "four trials are all";
}

TEST(AsyncHalving, SenselessHyperparametersDoNotCount) {
  Searcher searcher = stopping(2, 2);
  searcher.begin();
  EXPECT_EQ(only<CreateTrial>(searcher.exited(trial(0), TrialExit::kInvalidHparams, {})).size(),
            1U);
  EXPECT_EQ(only<CreateTrial>(searcher.exited(trial(1), TrialExit::kInvalidHparams, {})).size(),
            1U);
}

TEST(Promotion, TrialsWaitAtARungUntilTheQuotaGrows) {
  Searcher searcher(config_of(AsyncHalving{2, 9, 3, 9, true}, 1), one_real(), 1);
  const auto first = only<CreateTrial>(searcher.begin());
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].target, 3U);
  EXPECT_TRUE(searcher.reported(trial(0), {0.5, 2.9}).empty()) << "not yet there";
  EXPECT_EQ(only<CreateTrial>(searcher.reported(trial(0), {0.5, 3})).size(), 1U)
      << "it waits, another begins";
  EXPECT_EQ(only<CreateTrial>(searcher.reported(trial(1), {0.6, 3})).size(), 1U);
  const auto third = searcher.reported(trial(2), {0.7, 3});
  EXPECT_EQ(only<ContinueTrial>(third), (std::vector<ContinueTrial>{{trial(0), 9}}))
      << "one in three: the best";
  const auto top = searcher.reported(trial(0), {0.4, 9});
  EXPECT_EQ(stop_in(top).cause, StopCause::kTrained);
}

TEST(Promotion, WhenAllHaveComeTheRestIsClosed) {
  Searcher searcher(config_of(AsyncHalving{2, 3, 3, 9, true}, 3), one_real(), 1);
  searcher.begin();
  searcher.reported(trial(0), {0.5, 3});
  searcher.reported(trial(1), {0.6, 3});
  const auto third = searcher.reported(trial(2), {0.7, 3});
  EXPECT_EQ(only<ContinueTrial>(third).size(), 1U);
  const auto closed = only<StopTrial>(third);
  ASSERT_EQ(closed.size(), 2U);
  EXPECT_EQ(closed[0], (StopTrial{trial(1), {StopCause::kRungCut, 0, 0, 1, 1, 3}}));
  const auto end = searcher.reported(trial(0), {0.5, 9});
  EXPECT_EQ(only<FinishSearch>(end).size(), 1U);
}

TEST(Promotion, AFailedTrialHoldsItsPlaceAndIsPassedOn) {
  Searcher searcher(config_of(AsyncHalving{2, 3, 3, 9, true}, 3), one_real(), 1);
  searcher.begin();
  searcher.exited(trial(0), TrialExit::kErrored, {});
  searcher.exited(trial(1), TrialExit::kErrored, {});
  const auto third = searcher.reported(trial(2), {0.7, 3});
  EXPECT_EQ(only<ContinueTrial>(third), (std::vector<ContinueTrial>{{trial(2), 9}}));
}

TEST(SyncHalving, ARungWaitsForAllAndFailuresAreNotPromoted) {
  Searcher searcher(config_of(SyncHalving{2, 4, 2, 2}, 4), one_real(), 1);
  searcher.begin();
  searcher.exited(trial(3), TrialExit::kErrored, {});
  EXPECT_TRUE(searcher.reported(trial(0), {0.5, 1}).empty());
  EXPECT_TRUE(searcher.reported(trial(1), {0.4, 1}).empty());
  const auto last = searcher.reported(trial(2), {0.9, 1});
  EXPECT_EQ(only<ContinueTrial>(last), (std::vector<ContinueTrial>{{trial(1), 2}, {trial(0), 2}}));
  EXPECT_EQ(stop_in(last), (StopReason{StopCause::kRungCut, 0, 0, 2, 2, 4}));
}

TEST(SyncHalving, TheOrderOfArrivalDoesNotMatter) {
  const auto run = [](std::vector<std::uint32_t> order) {
    Searcher searcher(config_of(SyncHalving{2, 4, 2, 2}, 4), one_real(), 1);
    searcher.begin();
    std::vector<SearchAction> last;
    for (const std::uint32_t i : order)
      last = searcher.reported(trial(i), {i < 2 ? 0.5 : 0.1 * i, 1});
    return last;
  };
  EXPECT_EQ(run({0, 1, 2, 3}), run({3, 1, 2, 0}));
}

TEST(Hyperband, TheAlgorithmsTableFor81And3) {
  const std::vector<SyncBracketPlan> expected{{{81, 1}, {27, 3}, {9, 9}, {3, 27}, {1, 81}},
                                              {{34, 3}, {11, 9}, {3, 27}, {1, 81}},
                                              {{15, 9}, {5, 27}, {1, 81}},
                                              {{8, 27}, {2, 81}},
                                              {{5, 81}}};
  EXPECT_EQ(hyperband_brackets(Hyperband{3, 81}), expected);
  EXPECT_EQ(hyperband_brackets(Hyperband{3, 243}).size(), 6U)
      << "log 243 / log 3 rounds down in doubles";
}

TEST(Hyperband, RunsEveryBracketAsPlanned) {
  Searcher searcher(config_of(Hyperband{3, 27}, 5), one_real(), 1);
  const VirtualResult result = run_virtually(
      searcher, 27,
      [](TrialIndex, const Json& hparams, double) { return *hparams.find("x")->number(); });
  std::map<std::pair<std::uint32_t, double>, std::uint32_t> ended;
  for (const VirtualTrial& one : result.trials) ++ended[{one.stop->bracket, one.units}];
  const std::map<std::pair<std::uint32_t, double>, std::uint32_t> expected{
      {{0, 1}, 18}, {{0, 3}, 6},  {{0, 9}, 2}, {{0, 27}, 1}, {{1, 3}, 8},
      {{1, 9}, 3},  {{1, 27}, 1}, {{2, 9}, 4}, {{2, 27}, 2}, {{3, 27}, 4}};
  EXPECT_EQ(ended, expected);
}

}  // namespace
}  // namespace muster::search

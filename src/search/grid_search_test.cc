#include "search/grid_search.h"

#include <gtest/gtest.h>

#include <set>

#include "search/testing.h"
#include "search/virtual_search.h"

namespace muster::search {
namespace {

using namespace testing;

HyperSpace grid_space() {
  return {{{"a"}, CategoricalDomain{{"x", "y", "z"}}},
          {{"b"}, IntDomain{1, 4, 2}},
          {{"c"}, ConstDomain{true}}};
}

TEST(GridMethod, EveryPointIsTriedOnce) {
  Searcher searcher(config_of(GridSearch{}, 4), grid_space(), 1);
  const VirtualResult result =
      run_virtually(searcher, 1, [](TrialIndex, const Json&, double) { return 0.5; });
  ASSERT_EQ(result.trials.size(), 6U);
  std::set<std::string> points;
  for (const VirtualTrial& one : result.trials)
    points.insert(*one.hparams.find("a")->text() + std::to_string(*one.hparams.find("b")->whole()));
  EXPECT_EQ(points, (std::set<std::string>{"x1", "x4", "y1", "y4", "z1", "z4"}));
}

TEST(GridMethod, ASenselessPointIsNotReplaced) {
  Searcher searcher(config_of(GridSearch{}, 6), grid_space(), 1);
  EXPECT_EQ(only<CreateTrial>(searcher.begin()).size(), 6U);
  for (std::uint32_t i = 0; i < 6; ++i) {
    EXPECT_TRUE(
        only<CreateTrial>(searcher.exited(trial(i), TrialExit::kInvalidHparams, {})).empty());
  }
  EXPECT_TRUE(searcher.is_finished());
}

TEST(GridMethod, WithoutALimitAllPointsTrainAtOnceAndProgressCountsThem) {
  const HyperSpace space = grid_space();
  const GridMethod method(space);
  EXPECT_EQ(method.natural_concurrency(), 6U);
  EXPECT_EQ(method.progress(3), 0.5);
  const HyperSpace nothing;
  EXPECT_EQ(GridMethod(nothing).natural_concurrency(), 1U) << "one point, of no dimension";
}

}  // namespace
}  // namespace muster::search

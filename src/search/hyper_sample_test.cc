#include "search/hyper_sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace muster::search {
namespace {

TEST(GridValues, BothEndsAreIncludedAndOnePointIsTheMiddle) {
  EXPECT_EQ(grid_values(IntDomain{0, 10, 3}), (std::vector<Json>{0, 5, 10}));
  EXPECT_EQ(grid_values(IntDomain{0, 10, 1}), (std::vector<Json>{5}));
  EXPECT_EQ(grid_values(DoubleDomain{0, 1, 3}), (std::vector<Json>{0.0, 0.5, 1.0}));
  EXPECT_EQ(grid_values(DoubleDomain{0, 1, 1}), (std::vector<Json>{0.5}));
  EXPECT_EQ(grid_values(LogDomain{10, -2, 0, 3}), (std::vector<Json>{0.01, 0.1, 1.0}));
}

TEST(GridValues, WholeNumbersDoNotRepeat) {
  EXPECT_EQ(grid_values(IntDomain{1, 3, 10}), (std::vector<Json>{1, 2, 3}));
  EXPECT_EQ(grid_values(IntDomain{-3, 4, 4}), (std::vector<Json>{-3, -1, 2, 4}));
}

TEST(Grid, EveryPointOnceWithNamesNested) {
  const HyperSpace space{{{"a"}, CategoricalDomain{{"x", "y"}}},
                         {{"b", "c"}, IntDomain{1, 3, 3}},
                         {{"b", "d"}, ConstDomain{Json(true)}}};
  const Grid grid(space);
  ASSERT_EQ(grid.size(), 6U);
  std::set<std::string> seen;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const Json point = grid.point(i);
    seen.insert(*point.find("a")->text() + std::to_string(*point.find("b")->find("c")->whole()));
    EXPECT_EQ(*point.find("b")->find("d"), Json(true));
  }
  EXPECT_EQ(seen, (std::set<std::string>{"x1", "x2", "x3", "y1", "y2", "y3"}));
  EXPECT_EQ(*grid.point(1).find("a"), Json("x")) << "the last dimension changes fastest";
}

TEST(Grid, ASizeBeyondNumbersIsTheLargestNumber) {
  const HyperSpace space(5, {{"a"}, DoubleDomain{0, 1, 65536}});
  EXPECT_EQ(Grid(space).size(), UINT64_MAX);
}

TEST(Sample, StaysInItsDomainAndReachesItsEnds) {
  Rng rng(1);
  std::set<std::int64_t> whole;
  double least = 1;
  double most = 0;
  for (int i = 0; i < 2000; ++i) {
    whole.insert(*sample_value(IntDomain{-2, 2, {}}, rng).whole());
    const double real = *sample_value(DoubleDomain{0, 1, {}}, rng).number();
    least = std::min(least, real);
    most = std::max(most, real);
    const double power = *sample_value(LogDomain{10, -4, -1, {}}, rng).number();
    EXPECT_GE(power, 1e-4);
    EXPECT_LE(power, 1e-1);
  }
  EXPECT_EQ(whole, (std::set<std::int64_t>{-2, -1, 0, 1, 2}));
  EXPECT_GE(least, 0);
  EXPECT_LT(least, 0.01);
  EXPECT_LE(most, 1);
  EXPECT_GT(most, 0.99);
}

TEST(Sample, ExponentsAreUniform) {
  Rng rng(2);
  int below = 0;
  for (int i = 0; i < 4000; ++i)
    below += *sample_value(LogDomain{10, -4, 0, {}}, rng).number() < 1e-2 ? 1 : 0;
  EXPECT_NEAR(below, 2000, 4 * std::sqrt(1000.0));
}

TEST(Sample, OneSeedOneDraw) {
  const HyperSpace space{{{"a"}, DoubleDomain{0, 1, {}}}, {{"b"}, CategoricalDomain{{1, 2, 3}}}};
  Rng one(7);
  Rng other(7);
  EXPECT_EQ(sample(space, one), sample(space, other));
  EXPECT_NE(sample(space, one), sample(space, one));
}

}  // namespace
}  // namespace muster::search

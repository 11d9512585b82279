#include "search/population_training.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace muster::search

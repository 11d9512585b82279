#include "search/tpe.h"

#include <gtest/gtest.h>

#include <cmath>

#include "search/testing.h"
#include "search/virtual_search.h"

namespace muster::search {
namespace {

using namespace testing;

HyperSpace wide_space() {
  return {{{"batch"}, IntDomain{1, 64, {}}},   {{"kind"}, CategoricalDomain{{"a", "b", "c"}}},
          {{"lr"}, LogDomain{10, -4, -1, {}}}, {{"same"}, DoubleDomain{2, 2, {}}},
          {{"seed"}, ConstDomain{7}},          {{"x"}, DoubleDomain{-1, 1, {}}}};
}

VirtualResult run(const SearchMethodConfig& method, const HyperSpace& space, std::uint64_t seed,
                  const LearningCurve& curve) {
  Searcher searcher(config_of(method, 2), space, seed);
  return run_virtually(searcher, 1, curve);
}
double best_of(const VirtualResult& result) {
  double best = std::numeric_limits<double>::infinity();
  for (const VirtualTrial& trial : result.trials) best = std::min(best, trial.metric);
  return best;
}

TEST(Tpe, ValuesStayInTheirDomains) {
  const VirtualResult result = run(
      TpeSearch{60, 5, 8}, wide_space(), 1,
      [](TrialIndex trial, const Json&, double) { return static_cast<double>(trial.value() % 7); });
  ASSERT_EQ(result.trials.size(), 60U);
  for (const VirtualTrial& trial : result.trials) {
    const std::int64_t batch = *trial.hparams.find("batch")->whole();
    EXPECT_TRUE(batch >= 1 && batch <= 64);
    EXPECT_NE(trial.hparams.find("kind")->text(), nullptr);
    const double rate = *trial.hparams.find("lr")->number();
    EXPECT_TRUE(rate >= 1e-4 * (1 - 1e-12) && rate <= 0.1 * (1 + 1e-12)) << rate;
    EXPECT_EQ(*trial.hparams.find("same"), Json(2.0)) << "nothing varies";
    EXPECT_EQ(*trial.hparams.find("seed"), Json(7));
    EXPECT_LE(std::abs(*trial.hparams.find("x")->number()), 1);
  }
}

TEST(Tpe, FindsWhatChanceAloneDoesNot) {
  const LearningCurve curve = [](TrialIndex, const Json& hparams, double) {
    const double x = *hparams.find("x")->number() - 0.3;
    const double rate = std::log10(*hparams.find("lr")->number()) + 2.5;
    return x * x + rate * rate + (*hparams.find("kind")->text() == "b" ? 0 : 1);
  };
  int better = 0;
  for (std::uint64_t seed = 1; seed <= 11; ++seed) {
    const double guided = best_of(run(TpeSearch{80, 10, 24}, wide_space(), seed, curve));
    const double random = best_of(run(RandomSearch{80}, wide_space(), seed, curve));
    better += guided < random ? 1 : 0;
  }
  EXPECT_GE(better, 8) << "of eleven seeds";
}

TEST(Tpe, ASenselessTrialIsReplacedAndAvoided) {
  Searcher searcher(config_of(TpeSearch{3, 1, 8}, 1), one_real(), 1);
  searcher.begin();
  EXPECT_EQ(only<CreateTrial>(searcher.exited(trial(0), TrialExit::kInvalidHparams, {})).size(),
            1U);
  for (std::uint32_t i = 1; i < 3; ++i) searcher.exited(trial(i), TrialExit::kCompleted, 0.5);
  EXPECT_FALSE(searcher.is_finished()) << "the senseless one does not count";
  searcher.exited(trial(3), TrialExit::kCompleted, 0.5);
  EXPECT_TRUE(searcher.is_finished());
}

TEST(Tpe, TheOrderInWhichTrialsEndDoesNotMatter) {
  const auto next_of = [](std::vector<std::uint32_t> order) {
    Searcher searcher(config_of(TpeSearch{20, 4, 8}, 4), one_real(), 5);
    searcher.begin();
    searcher.set_max_concurrent(1);
    std::vector<SearchAction> last;
    for (const std::uint32_t i : order)
      last = searcher.exited(trial(i), TrialExit::kCompleted, 0.1 * i);
    return only<CreateTrial>(last).at(0).hparams;
  };
  EXPECT_EQ(next_of({0, 1, 2, 3}), next_of({3, 1, 0, 2}));
}

}  // namespace
}  // namespace muster::search

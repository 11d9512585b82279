#include "search/parzen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace muster::search {
namespace {

using Kind = ParzenAxis::Kind;
constexpr ParzenAxis kUnit{Kind::kReal, 0, 1};
constexpr ParzenAxis kWhole{Kind::kWhole, -2, 5};
constexpr ParzenAxis kCategories{Kind::kCategory, 0, 3};

double density(const ParzenEstimator& estimator, double value) {
  return std::exp(estimator.log_density(value));
}
/// Simpson's rule over the axis.
double integral(const ParzenEstimator& estimator, double low, double high) {
  constexpr int kSteps = 2000;
  const double step = (high - low) / kSteps;
  double sum = density(estimator, low) + density(estimator, high);
  for (int i = 1; i < kSteps; ++i) sum += (i % 2 == 1 ? 4 : 2) * density(estimator, low + i * step);
  return sum * step / 3;
}
std::vector<double> random_observations(Rng& rng, std::size_t count, const ParzenAxis& axis) {
  std::vector<double> result;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = axis.low + rng.unit() * (axis.high - axis.low);
    result.push_back(axis.kind == Kind::kReal ? value : std::round(value));
  }
  return result;
}

TEST(Parzen, DensitiesAddUpToOne) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    for (const std::size_t count : {0U, 1U, 2U, 10U, 24U, 25U, 26U, 27U, 60U}) {
      const ParzenEstimator real(kUnit, random_observations(rng, count, kUnit));
      EXPECT_NEAR(integral(real, 0, 1), 1, 1e-6) << count;
      const ParzenEstimator whole(kWhole, random_observations(rng, count, kWhole));
      double mass = 0;
      for (int value = -2; value <= 5; ++value) mass += density(whole, value);
      EXPECT_NEAR(mass, 1, 1e-9) << count;
      const ParzenEstimator category(kCategories, random_observations(rng, count, kCategories));
      mass = 0;
      for (int value = 0; value <= 3; ++value) mass += density(category, value);
      EXPECT_NEAR(mass, 1, 1e-12) << count;
    }
  }
}

TEST(Parzen, WithoutObservationsAllCategoriesAreAlike) {
  const ParzenEstimator category(kCategories, {});
  for (int value = 0; value <= 3; ++value) EXPECT_NEAR(density(category, value), 0.25, 1e-12);
  const ParzenEstimator real(kUnit, {});
  EXPECT_NEAR(density(real, 0.1), density(real, 0.9), 1e-12) << "the prior is even on both sides";
  EXPECT_GT(density(real, 0.5), density(real, 0.0));
}

TEST(Parzen, ACategoryThatWasSeenIsLikelier) {
  // One observation and a flat prior of equal weight, each with 1/2 of the prior's own per
  // category: (1/2) (1/2 + 1) / 3 + (1/2) (1/4) for the one, (1/2) (1/2) / 3 + (1/2) (1/4) for the
  // others.
  const ParzenEstimator one(kCategories, {2});
  EXPECT_NEAR(density(one, 2), 0.375, 1e-12);
  EXPECT_NEAR(density(one, 0), 5.0 / 24, 1e-12);
}

TEST(Parzen, DensityIsHighWhereObservationsAre) {
  const ParzenEstimator real(kUnit, {0.2, 0.21, 0.22, 0.19});
  EXPECT_GT(density(real, 0.2), 3 * density(real, 0.8));
  EXPECT_GT(density(real, 0.8), 0.05) << "the prior leaves nothing out";
}

TEST(Parzen, OlderObservationsWeighLessBeyondTwentyFive) {
  std::vector<double> old_low(30, 0.1);
  old_low.insert(old_low.end(), 25, 0.9);
  const ParzenEstimator late_high(kUnit, old_low);
  const ParzenEstimator late_low(kUnit, {old_low.rbegin(), old_low.rend()});
  EXPECT_GT(density(late_high, 0.9), density(late_high, 0.1));
  EXPECT_GT(density(late_low, 0.1), density(late_low, 0.9));
}

TEST(Parzen, DrawsAreDistributedAsTheDensitySays) {
  constexpr std::uint64_t kSeed = 47;
  constexpr int kDraws = 20'000;
  Rng rng(kSeed);
  const ParzenEstimator whole(kWhole, {1, 1, 4});
  std::map<int, int> drawn;
  for (int i = 0; i < kDraws; ++i) {
    const double value = whole.draw(rng);
    ASSERT_EQ(value, std::round(value));
    ++drawn[static_cast<int>(value)];
  }
  for (int value = -2; value <= 5; ++value) {
    const double expected = kDraws * density(whole, value);
    EXPECT_NEAR(drawn[value], expected, 5 * std::sqrt(expected) + 1) << value;
  }
  const ParzenEstimator category(kCategories, {0, 0, 3});
  drawn.clear();
  for (int i = 0; i < kDraws; ++i) ++drawn[static_cast<int>(category.draw(rng))];
  for (int value = 0; value <= 3; ++value) {
    const double expected = kDraws * density(category, value);
    EXPECT_NEAR(drawn[value], expected, 5 * std::sqrt(expected) + 1) << value;
  }
}

TEST(Parzen, DrawsStayWithinTheAxis) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    const ParzenEstimator edges(kUnit, {0, 1, 0, 1, 0.5});
    for (int i = 0; i < 200; ++i) {
      const double value = edges.draw(rng);
      ASSERT_GE(value, 0) << "seed " << seed;
      ASSERT_LE(value, 1) << "seed " << seed;
      ASSERT_TRUE(std::isfinite(edges.log_density(value)));
    }
  }
}

TEST(Parzen, OneSeedOneDraw) {
  Rng a(3);
  Rng b(3);
  const ParzenEstimator real(kUnit, {0.3, 0.6});
  for (int i = 0; i < 50; ++i) EXPECT_EQ(real.draw(a), real.draw(b));
}

}  // namespace
}  // namespace muster::search

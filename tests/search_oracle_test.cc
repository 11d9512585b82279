// Search methods against published tables: learning curves that were really measured, decisions of
// another implementation, and expectations in closed form. Reads ../shared/data beside the source
// tree; without it the tests say that they are skipped.
#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "search/testing.h"
#include "search/virtual_search.h"
#include "shared_data.h"

namespace muster::search {
namespace {

using namespace testing;
using namespace shared_data;

// ---- tables ----

/// A benchmark that was measured on a grid: the value of every combination of indices.
struct Table {
  HyperSpace
      space;  ///< one axis of whole numbers per parameter, the indices 0..n-1 of its rising values
  std::map<std::vector<std::int64_t>, double> values;

  double at(const Json& hparams) const {
    std::vector<std::int64_t> place;
    for (const Hyperparameter& one : space) place.push_back(*hparams.find(one.path)->whole());
    return values.at(place);
  }
};

Table lda() {
  const auto lines = read_lines(data_path("hpo/lda_on_grid.csv"));
  std::array<std::set<double>, 3> axes;
  const auto parameter = [](const std::string& line, std::size_t axis) {
    return std::stod(split(line)[axis]);
  };
  for (std::size_t i = 1; i < lines.size(); ++i) {
    for (std::size_t axis = 0; axis < 3; ++axis) axes[axis].insert(parameter(lines[i], axis));
  }
  Table table;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::vector<std::int64_t> place;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      place.push_back(
          std::distance(axes[axis].begin(), axes[axis].find(parameter(lines[i], axis))));
    }
    table.values[place] = parameter(lines[i], 3);
  }
  constexpr std::array<const char*, 3> kNames{"kappa", "s", "tau"};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    table.space.push_back(
        {{kNames[axis]}, IntDomain{0, static_cast<std::int64_t>(axes[axis].size()) - 1, 100}});
  }
  return table;
}

/// Logistic regression: 968 configurations, each after 5 · 2^k epochs, k = 0..9. Configuration c:
/// lrate c / 88, l2 (c / 8) mod 11, batch c mod 8.
class LogisticRegression {
 public:
  static constexpr int kConfigurations = 968;
  LogisticRegression() {
    const std::map<std::string, int> batches{{"20", 0},  {"40", 1},  {"80", 2},   {"160", 3},
                                             {"320", 4}, {"640", 5}, {"1280", 6}, {"2560", 7}};
    for (const std::string& line : read_lines(data_path("hpo/logreg_on_grid.csv.gz"))) {
      if (line.empty() || !std::isdigit(static_cast<unsigned char>(line[0]))) continue;
      const auto fields = split(line);
      const int lrate = std::stoi(fields[0]);
      const int l2 = static_cast<int>(std::lround(std::stod(fields[1]) * 10));
      errors_[{lrate * 88 + l2 * 8 + batches.at(fields[2]), std::stoi(fields[3])}] =
          std::stod(fields[4]);
    }
  }
  bool is_there() const { return !errors_.empty(); }
  double error(int configuration, double epochs) const {
    return errors_.at({configuration, static_cast<int>(epochs)});
  }
  /// The k-th new trial of the published runs.
  static int published_order(TrialIndex trial) {
    return static_cast<int>((389 * std::uint64_t{trial.value()} + 17) % kConfigurations);
  }
  LearningCurve published_curve() const {
    return [this](TrialIndex trial, const Json&, double epochs) {
      return error(published_order(trial), epochs);
    };
  }
  /// A space over all configurations, and its curve.
  static HyperSpace space() { return {{{"c"}, IntDomain{0, kConfigurations - 1, {}}}}; }
  LearningCurve curve() const {
    return [this](TrialIndex, const Json& hparams, double epochs) {
      return error(static_cast<int>(*hparams.find("c")->whole()), epochs);
    };
  }

 private:
  std::map<std::pair<int, int>, double> errors_;
};

double best_of(const VirtualResult& result, double at_units) {
  double best = std::numeric_limits<double>::infinity();
  for (const VirtualTrial& one : result.trials) {
    if (one.units >= at_units) best = std::min(best, one.metric);
  }
  return best;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}
double deviation_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

/// The best value of each of `seeds` runs over a table.
std::vector<double> bests(const Table& table, const SearchMethodConfig& method,
                          std::uint64_t seeds) {
  std::vector<double> best;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Searcher searcher(config_of(method, 1), table.space, seed);
    const LearningCurve curve = [&](TrialIndex, const Json& hparams, double) {
      return table.at(hparams);
    };
    best.push_back(best_of(run_virtually(searcher, 1, curve), 1));
  }
  return best;
}

// ---- random and grid ----

struct Expectation {
  std::uint32_t draws;
  double mean;
  double deviation;
};

Expectation expectation(const std::string& benchmark, const std::string& draws) {
  for (const std::string& line : read_lines(data_path("hpo/random_search_exact_expectation.csv"))) {
    const auto fields = split(line);
    if (fields.size() == 8 && fields[0] == benchmark && fields[3] == draws) {
      return {static_cast<std::uint32_t>(std::stoul(draws)), std::stod(fields[6]),
              std::stod(fields[7])};
    }
  }
  return {};
}

TEST(RandomSearchTables, TheBestOfManyDrawsIsAsOrderStatisticsSay) {
  const Table table = lda();
  if (table.values.empty()) GTEST_SKIP() << "there is no ../shared/data/hpo";
  ASSERT_EQ(table.values.size(), 288U);
  constexpr std::uint64_t kSeeds = 400;
  for (const char* draws : {"50", "100"}) {
    const Expectation expected = expectation("lda_on_grid", draws);
    ASSERT_GT(expected.draws, 0U);
    const double mean = mean_of(bests(table, RandomSearch{expected.draws}, kSeeds));
    EXPECT_NEAR(mean, expected.mean, 4 * expected.deviation / std::sqrt(double{kSeeds}))
        << draws << " draws";
  }
}

TEST(RandomSearchTables, FullyTrainedLearningCurvesToo) {
  const LogisticRegression table;
  if (!table.is_there()) GTEST_SKIP() << "there is no ../shared/data/hpo";
  constexpr std::uint64_t kSeeds = 400;
  const Expectation expected = expectation("logreg@2560", "100");
  std::vector<double> found;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Searcher searcher(config_of(RandomSearch{100}, 7), LogisticRegression::space(), seed);
    found.push_back(best_of(run_virtually(searcher, 2560, table.curve()), 2560));
  }
  EXPECT_NEAR(mean_of(found), expected.mean, 4 * expected.deviation / std::sqrt(double{kSeeds}));
}

TEST(GridSearchTables, EveryPointIsVisitedOnce) {
  const Table table = lda();
  if (table.values.empty()) GTEST_SKIP() << "there is no ../shared/data/hpo";
  Searcher searcher(config_of(GridSearch{}, 16), table.space, 1);
  std::map<double, int> seen;
  const VirtualResult result = run_virtually(
      searcher, 1, [&](TrialIndex, const Json& hparams, double) { return table.at(hparams); });
  EXPECT_EQ(result.trials.size(), 288U);
  EXPECT_NEAR(best_of(result, 1), 1266.167382, 1e-4);
  std::vector<Json> points;
  for (const VirtualTrial& one : result.trials) {
    EXPECT_EQ(std::ranges::find(points, one.hparams), points.end());
    points.push_back(one.hparams);
  }
}

// ---- halving ----

/// Optuna 3.1.0: SuccessiveHalvingPruner(reduction_factor=4), one worker, 200 trials. A trial that
/// is not pruned ends at 2,560 epochs, before a rung at 5,120.
TEST(HalvingTables, TheStoppingFormDecidesAsOptunaRowByRow) {
  const LogisticRegression table;
  const auto golden = read_lines(data_path("hpo/optuna310_sha4_1worker_golden.csv"));
  if (!table.is_there() || golden.empty()) GTEST_SKIP() << "there is no ../shared/data/hpo";
  Searcher searcher(config_of(AsyncHalving{6, 200, 4, 5120, false}, 1), one_real(), 1);
  const VirtualResult result = run_virtually(searcher, 2560, table.published_curve());
  ASSERT_EQ(result.trials.size(), golden.size() - 1);
  int complete = 0;
  for (std::size_t i = 0; i < result.trials.size(); ++i) {
    const auto row = split(golden[i + 1]);
    const VirtualTrial& one = result.trials[i];
    EXPECT_EQ(LogisticRegression::published_order(trial(static_cast<std::uint32_t>(i))),
              std::stoi(row[3]));
    EXPECT_EQ(one.units, std::stod(row[5])) << "trial " << i;
    EXPECT_EQ(one.stop.has_value(), row[6] == "1") << "trial " << i;
    EXPECT_EQ(one.metric, std::stod(row[7])) << "trial " << i;
    complete += one.stop ? 0 : 1;
  }
  EXPECT_EQ(complete, 7);
  EXPECT_EQ(result.total_units(), 20040);
}

TEST(HalvingTables, TheSynchronousFormFindsThePublishedWinner) {
  const LogisticRegression table;
  if (!table.is_there()) GTEST_SKIP() << "there is no ../shared/data/hpo";
  for (const std::uint32_t at_once : {1U, 5U, 64U}) {
    Searcher searcher(config_of(SyncHalving{7, 64, 2, 320}, at_once), one_real(), 1);
    const VirtualResult result = run_virtually(searcher, 320, table.published_curve());
    std::map<double, int> ended;
    for (std::uint32_t i = 0; i < result.trials.size(); ++i) {
      ++ended[result.trials[i].units];
      if (result.trials[i].units != 320) continue;
      EXPECT_EQ(LogisticRegression::published_order(trial(i)), 89);
      EXPECT_NEAR(result.trials[i].metric, 0.0750, 5e-5);
    }
    EXPECT_EQ(ended, (std::map<double, int>{
                         {5, 32}, {10, 16}, {20, 8}, {40, 4}, {80, 2}, {160, 1}, {320, 1}}))
        << at_once;
  }
}

/// The chance of `wins` or more heads in `throws` of a fair coin.
double sign_test(int wins, int throws) {
  double chance = 0;
  for (int k = wins; k <= throws; ++k) {
    chance += std::exp(std::lgamma(throws + 1) - std::lgamma(k + 1) - std::lgamma(throws - k + 1) -
                       throws * std::log(2.0));
  }
  return chance;
}

/// For a quarter of the training, adaptive ASHA with the defaults that users have finds better
/// configurations than random search does. Over 20 seeds, by a one-sided sign test in which ties do
/// not count.
TEST(HalvingTables, AdaptiveAshaBeatsRandomSearchForAQuarterOfTheTraining) {
  const LogisticRegression table;
  if (!table.is_there()) GTEST_SKIP() << "there is no ../shared/data/hpo";
  constexpr std::uint64_t kSeeds = 20;
  AdaptiveAsha adaptive;
  adaptive.max_time = 2560;
  adaptive.max_trials = 400;
  std::vector<double> mine;
  std::vector<double> random;
  int wins = 0;
  int losses = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Searcher searcher(config_of(adaptive), LogisticRegression::space(), seed);
    const VirtualResult ours = run_virtually(searcher, 2560, table.curve());
    Searcher plain(config_of(RandomSearch{140}), LogisticRegression::space(), 1000 + seed);
    const VirtualResult theirs = run_virtually(plain, 2560, table.curve());
    EXPECT_LE(ours.total_units(), 0.25 * theirs.total_units()) << "seed " << seed;
    mine.push_back(best_of(ours, 0));
    random.push_back(best_of(theirs, 0));
    wins += mine.back() < random.back() ? 1 : 0;
    losses += mine.back() > random.back() ? 1 : 0;
  }
  std::ranges::sort(mine);
  std::ranges::sort(random);
  EXPECT_LE(mine[kSeeds / 2], random[kSeeds / 2]);
  EXPECT_LT(sign_test(wins, wins + losses), 0.05) << wins << " wins, " << losses << " losses";
}

// ---- population-based training ----

/// The toy of Jaderberg et al. 2017, section 3: maximise Q = 1.2 - a^2 - b^2 with gradients of 1.2
/// - h0 a^2 - h1 b^2 only.
struct Toy {
  double a = 0.9;
  double b = 0.9;
  double quality() const { return 1.2 - a * a - b * b; }
  void step(double h0, double h1) {
    constexpr double kRate = 0.01;
    a -= kRate * 2 * h0 * a;
    b -= kRate * 2 * h1 * b;
  }
};

double best_toy_quality(const PopulationTraining& config, std::uint64_t seed) {
  const HyperSpace space{{{"h"}, CategoricalDomain{{"a", "b"}}}};
  SearchConfig search = config_of(config, 0);
  search.smaller_is_better = false;
  Searcher searcher(search, space, seed);
  struct Member {
    Toy toy;
    Json hparams;
    std::uint64_t steps = 0;
  };
  std::map<TrialIndex, Member> members;
  double best = -1e9;
  std::vector<std::pair<TrialIndex, std::uint64_t>> due;
  const auto hear = [&](const std::vector<SearchAction>& actions) {
    for (const SearchAction& action : actions) {
      if (const auto* create = std::get_if<CreateTrial>(&action)) {
        Member member;
        if (create->clone_of) member.toy = members.at(*create->clone_of).toy;
        member.hparams = create->hparams;
        members[create->trial] = member;
        due.emplace_back(create->trial, *create->target);
      }
      if (const auto* go_on = std::get_if<ContinueTrial>(&action))
        due.emplace_back(go_on->trial, go_on->target);
    }
  };
  hear(searcher.begin());
  for (std::size_t i = 0; i < due.size(); ++i) {
    const auto [number, target] = due[i];
    Member& member = members.at(number);
    const bool is_a = *member.hparams.find("h")->text() == "a";
    for (; member.steps < target; ++member.steps) member.toy.step(is_a ? 1 : 0, is_a ? 0 : 1);
    best = std::max(best, member.toy.quality());
    hear(searcher.reported(number, {member.toy.quality(), static_cast<double>(target)}));
  }
  EXPECT_TRUE(searcher.is_finished());
  return best;
}

TEST(PopulationTraining, ExploitationSolvesTheToyAndWithoutItNobodyDoes) {
  std::vector<double> with;
  std::vector<double> without;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    with.push_back(best_toy_quality({10, 40, 10, 0.2, 0.5, 0.2}, seed));
    without.push_back(best_toy_quality({10, 40, 10, 0.0, 0.5, 0.2}, seed));
  }
  EXPECT_GT(*std::ranges::min_element(with), 1.1);
  EXPECT_GT(mean_of(with), 1.18);
  EXPECT_LT(*std::ranges::max_element(without), 0.45);
}

// ---- Parzen estimators ----

/// Optuna 3.1.0's default on the same table: 50 trials, 40 seeds: mean 1267.94, deviation 2.2;
/// random 1269.54, 2.8.
TEST(TpeTables, BetterThanRandomAndNoWorseThanOptuna) {
  Table table = lda();
  if (table.values.empty()) GTEST_SKIP() << "there is no ../shared/data/hpo";
  constexpr std::uint64_t kSeeds = 200;
  const auto tpe = bests(table, TpeSearch{50}, kSeeds);
  const auto random = bests(table, RandomSearch{50}, kSeeds);
  const auto error_of = [](double deviation, double count) {
    return deviation * deviation / count;
  };
  const double error =
      std::sqrt(error_of(deviation_of(tpe), kSeeds) + error_of(deviation_of(random), kSeeds));
  EXPECT_LT(mean_of(tpe), mean_of(random) - 3 * error)
      << "TPE " << mean_of(tpe) << ", random " << mean_of(random);
  constexpr double kOptuna = 1267.94;
  const double slack = 2 * std::sqrt(error_of(deviation_of(tpe), kSeeds) + error_of(2.2, 40)) +
                       0.1 * (1269.54 - kOptuna);
  EXPECT_LT(mean_of(tpe), kOptuna + slack) << "TPE " << mean_of(tpe) << " sd " << deviation_of(tpe);
}

}  // namespace
}  // namespace muster::search

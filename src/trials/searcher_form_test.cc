// Experiment files as people have them, and what is said of those that are wrong.
#include "trials/searcher_form.h"

#include <gtest/gtest.h>

#include "trials/hyperparameter_form.h"

namespace muster {
namespace {

struct ReadSearcher {
  HyperSpace space;
  SearcherSection searcher;
  std::vector<std::string> problems;
};

ReadSearcher read_searcher(std::string_view text) {
  ReadSearcher result;
  auto document = parse_yaml(text);
  EXPECT_TRUE(document.has_value()) << document.error().text();
  if (!document.has_value()) return result;
  FormContext context{document->lines, {}};
  FormReader top(context, &document->root, "");
  FormReader hyperparameters = top.section("hyperparameters");
  result.space = read_hyperparameters(hyperparameters);
  FormReader searcher = top.section("searcher");
  result.searcher = read_searcher(searcher, result.space, hyperparameters);
  for (const FormProblem& problem : context.problems) result.problems.push_back(problem.text());
  return result;
}

using Problems = std::vector<std::string>;

constexpr std::string_view kAsha = R"(hyperparameters:
  optimizer: {type: categorical, vals: [sgd, adamw]}
  learning_rate: {type: log, base: 10, minval: -4, maxval: -1}
  layers: {type: int, minval: 2, maxval: 8}
  reg: {dropout: {type: double, minval: 0.0, maxval: 0.5}}
  global_batch_size: 256
searcher:
  name: adaptive_asha
  metric: accuracy
  smaller_is_better: false
  mode: standard
  max_trials: 500
  max_concurrent_trials: 16
  time_metric: epochs
  max_time: 64
  divisor: 4
  max_rungs: 5
)";

TEST(ExperimentFile, AdaptiveAshaOf038) {
  const ReadSearcher result = read_searcher(kAsha);
  EXPECT_EQ(result.problems, Problems{});
  ASSERT_EQ(result.space.size(), 5U);
  EXPECT_EQ(result.space[0], (Hyperparameter{{"global_batch_size"}, ConstDomain{256}}));
  EXPECT_EQ(result.space[1], (Hyperparameter{{"layers"}, IntDomain{2, 8, {}}}));
  EXPECT_EQ(result.space[2], (Hyperparameter{{"learning_rate"}, LogDomain{10, -4, -1, {}}}));
  EXPECT_EQ(result.space[3], (Hyperparameter{{"optimizer"}, CategoricalDomain{{"sgd", "adamw"}}}));
  EXPECT_EQ(result.space[4], (Hyperparameter{{"reg", "dropout"}, DoubleDomain{0, 0.5, {}}}));
  const SearchConfig& search = result.searcher.search;
  EXPECT_EQ(search.metric, "accuracy");
  EXPECT_FALSE(search.smaller_is_better);
  EXPECT_EQ(search.time_metric, "epochs");
  EXPECT_EQ(search.method,
            SearchMethodConfig(AdaptiveAsha{AshaMode::kStandard, 5, 500, 4, 64, {}, false}));
}

TEST(ExperimentFile, TheSpellingsOf037) {
  const ReadSearcher result = read_searcher(
      "searcher: {name: async_halving, metric: loss, num_rungs: 3, max_trials: 9, divisor: 3, "
      "max_length: {epochs: 64}, stop_once: false}\n");
  EXPECT_EQ(result.problems, Problems{});
  EXPECT_EQ(result.searcher.search.time_metric, "epochs");
  EXPECT_EQ(result.searcher.search.method, SearchMethodConfig(AsyncHalving{3, 9, 3, 64, true}));
  EXPECT_EQ(result.searcher.trial_length, 0U) << "each rung tells how far";
  const ReadSearcher stopping = read_searcher(
      "searcher: {name: adaptive_asha, metric: loss, max_trials: 9, divisor: 3, max_length: "
      "{epochs: 9}}\n");
  EXPECT_EQ(stopping.problems, Problems{});
  EXPECT_EQ(stopping.searcher.trial_length, 9U) << "scripts ask how far to train at most";
  const ReadSearcher single =
      read_searcher("searcher: {name: single, metric: loss, max_length: {batches: 500}}\n");
  EXPECT_EQ(single.problems, Problems{});
  EXPECT_EQ(single.searcher.trial_length, 500U);
  EXPECT_EQ(single.searcher.search.max_concurrent_trials, 1U);
}

TEST(ExperimentFile, PopulationBasedTrainingOf017) {
  const ReadSearcher result = read_searcher(R"(searcher:
  name: pbt
  metric: episode_return
  smaller_is_better: false
  population_size: 40
  num_rounds: 20
  length_per_round: {batches: 500}
  replace_function: {truncate_fraction: 0.3}
  explore_function: {resample_probability: 0.1, perturb_factor: 0.25}
)");
  EXPECT_EQ(result.problems, Problems{});
  EXPECT_EQ(result.searcher.search.time_metric, "batches");
  EXPECT_EQ(result.searcher.search.method,
            SearchMethodConfig(PopulationTraining{40, 20, 500, 0.3, 0.1, 0.25}));
}

TEST(ExperimentFile, OurOwnMethods) {
  EXPECT_EQ(
      read_searcher("searcher: {name: hyperband, metric: l, time_metric: epochs, max_time: 81}")
          .searcher.search.method,
      SearchMethodConfig(Hyperband{3, 81}));
  EXPECT_EQ(
      read_searcher("searcher: {name: tpe, metric: l, max_trials: 50}").searcher.search.method,
      SearchMethodConfig(TpeSearch{50, 10, 24}));
  EXPECT_EQ(
      read_searcher("searcher: {name: sync_halving, metric: l, time_metric: e, max_time: 320, "
                    "max_trials: 64, num_rungs: 7, divisor: 2}")
          .searcher.search.method,
      SearchMethodConfig(SyncHalving{7, 64, 2, 320}));
}

TEST(ExperimentFile, EverythingThatIsWrongIsSaidAtOnce) {
  const ReadSearcher result = read_searcher(R"(hyperparameters:
  lr: {type: log, minval: -1, maxval: -4}
  layers: {type: int, minval: two, maxval: 8, maxvall: 9}
  act: {type: categorical, vals: []}
  drop: {type: flaot, minval: 0, maxval: 1}
searcher:
  name: adaptive_asha
  metric: accuracy
  max_trials: 0
  max_time: 64
  max_trails: 3
  mode: fast
)");
  EXPECT_EQ(
      result.problems,
      (Problems{
          "line 2: hyperparameters.lr.maxval: -4 is below minval -1; exchange them",
          "line 3: hyperparameters.layers.minval: \"two\" is not possible; give a whole number",
          "line 3: hyperparameters.layers.maxvall: there is no such field here; is it 'maxval'?",
          "line 4: hyperparameters.act.vals: an empty list is not possible; give a list of one "
          "value or more",
          "line 5: hyperparameters.drop.type: \"flaot\" is not one of const, int, double, log, "
          "categorical",
          "line 12: searcher.mode: \"fast\" is not one of aggressive, standard, conservative",
          "line 9: searcher.max_trials: 0 is not possible; give a whole number from 1 to 100000",
          "line 6: searcher: 'time_metric' is missing; give the metric that counts training, such "
          "as epochs or batches",
          "line 11: searcher.max_trails: there is no such field here; is it 'max_trials'?"}));
}

TEST(ExperimentFile, WhatCannotBeRunIsRefusedByName) {
  EXPECT_EQ(read_searcher("searcher: {name: adaptive_simple, metric: l}").problems,
            (Problems{"line 1: searcher.name: \"adaptive_simple\" cannot be run: it was replaced; "
                      "use adaptive_asha"}));
  EXPECT_EQ(
      read_searcher("searcher: {metric: l}").problems,
      (Problems{"line 1: searcher: 'name' is missing; give the method, such as adaptive_asha"}));
}

TEST(ExperimentFile, ACustomSearchCountsTrainingInItsUnit) {
  const ReadSearcher plain = read_searcher("searcher: {name: custom, metric: l}");
  EXPECT_EQ(plain.problems, Problems());
  EXPECT_EQ(plain.searcher.search.method, SearchMethodConfig(CustomSearch{}));
  EXPECT_EQ(plain.searcher.search.time_metric, "batches");
  EXPECT_EQ(read_searcher("searcher: {name: custom, metric: l, unit: epochs}")
                .searcher.search.time_metric,
            "epochs");
  EXPECT_EQ(
      read_searcher("searcher: {name: custom, metric: l, unit: epochs, time_metric: batches}")
          .problems,
      (Problems{"line 1: searcher.time_metric: \"batches\" and the unit epochs do not go together; "
                "leave one out"}));
  EXPECT_EQ(read_searcher("searcher: {name: custom, metric: l, unit: hours}").problems,
            (Problems{"line 1: searcher.unit: \"hours\" is not one of batches, epochs, records"}));
}

TEST(ExperimentFile, AGridNeedsCounts) {
  EXPECT_EQ(
      read_searcher(
          "hyperparameters: {a: {b: {type: double, minval: 0, maxval: 1}}}\nsearcher: {name: "
          "grid, metric: l}\n")
          .problems,
      (Problems{
          "line 1: hyperparameters.a.b: a grid needs to know how many points: give 'count'"}));
}

TEST(ExperimentFile, SearchesWithoutBoundsAreRefused) {
  EXPECT_EQ(read_searcher("searcher: {name: random, metric: l, max_trials: 4294967295}").problems,
            (Problems{"line 1: searcher.max_trials: 4294967295 is not possible; give a whole "
                      "number from 1 to 100000"}));
  EXPECT_EQ(
      read_searcher(
          "searcher: {name: hyperband, metric: l, time_metric: batches, max_time: 1000000000}")
          .problems,
      (Problems{"line 1: searcher.max_time: 1000000000 would begin with 387420489 trials; count "
                "time in a larger unit, or raise "
                "the divisor"}));
  EXPECT_EQ(
      read_searcher("searcher: {name: pbt, metric: l, population_size: 10000, num_rounds: 10000, "
                    "length_per_round: {epochs: 1}}")
          .problems.size(),
      1U);
  EXPECT_EQ(read_searcher("searcher: {name: tpe, metric: l, max_trials: 20000}").problems.size(),
            1U);
  const std::string axes = "{type: double, minval: 0, maxval: 1, count: 65536}";
  EXPECT_EQ(read_searcher("hyperparameters: {a: " + axes + ", b: " + axes + ", c: " + axes +
                          ", d: " + axes + "}\nsearcher: {name: grid, metric: l}")
                .problems,
            (Problems{"line 1: hyperparameters: the grid has 1.845e+19 points, and a search at "
                      "most 100000 trials; lower the counts"}));
}

TEST(ExperimentFile, NumbersBeyondWhatASearchCanHoldAreRefused) {
  EXPECT_EQ(read_searcher("hyperparameters: {n: {type: int, minval: 0, maxval: "
                          "9223372036854775807}}\nsearcher: {name: single, metric: l}")
                .problems.size(),
            1U);
  EXPECT_EQ(read_searcher("hyperparameters: {n: {type: double, minval: -1.7e308, maxval: "
                          "1.7e308}}\nsearcher: {name: single, metric: l}")
                .problems.size(),
            2U);
  EXPECT_EQ(read_searcher(
                "hyperparameters: {n: {type: log, base: 0.1, minval: -400, maxval: 0}}\nsearcher: "
                "{name: single, metric: l}")
                .problems.size(),
            1U);
}

TEST(ExperimentFile, LaddersBeyondNumbersAreRefused) {
  EXPECT_EQ(
      read_searcher("searcher: {name: adaptive_asha, metric: l, max_trials: 9, time_metric: e, "
                    "max_time: 64, divisor: 1000000, "
                    "bracket_rungs: [100, 1]}")
          .problems,
      (Problems{"line 1: searcher.bracket_rungs: 100 rungs with divisor 1000000 begin below "
                "any unit of training"}));
  EXPECT_EQ(read_searcher("searcher: {name: pbt, metric: l, population_size: 2, num_rounds: 10000, "
                          "length_per_round: {epochs: 9007199254740992}}")
                .problems,
            (Problems{"line 1: searcher.length_per_round: all rounds together are beyond what can "
                      "be counted; count in a larger unit"}));
}

TEST(ExperimentFile, LengthsInTwoUnitsAreRefused) {
  EXPECT_EQ(
      read_searcher("searcher: {name: single, metric: l, max_length: {epochs: 3, batches: 5}}")
          .problems.size(),
      1U);
  EXPECT_EQ(
      read_searcher(
          "searcher: {name: hyperband, metric: l, time_metric: steps, max_length: {epochs: 9}}")
          .problems,
      (Problems{"line 1: searcher.time_metric: \"steps\" and a length in epochs do not go "
                "together; leave it out"}));
}

TEST(ExperimentFile, BothSpellingsAtOnceAreRefused) {
  const ReadSearcher result = read_searcher(
      "searcher: {name: hyperband, metric: l, time_metric: epochs, max_time: 81, max_length: "
      "{epochs: 3}}");
  EXPECT_EQ(result.problems,
            (Problems{"line 1: searcher.max_length: max_time is given too; give one of them"}));
}

}  // namespace
}  // namespace muster

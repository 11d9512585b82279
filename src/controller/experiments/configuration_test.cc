// Configurations of experiments at the door: what is taken can be stored and read again.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>

#include "controller/experiments/testing.h"
#include "platform/config/prepare_experiment.h"
#include "platform/search/search_role.h"
#include "text/json_reader.h"
#include "text/json_text.h"
#include "text/launch_size.h"
#include "trials/experiment_form.h"

namespace muster {
namespace {

using testing::kRoot;
using testing::Lab;
using testing::random_search;

TEST(Configurations, AConfigurationIsOfAReasonableSize) {
  EXPECT_FALSE(check_experiment("# " + std::string(300 << 10, 'x')).has_value());
  EXPECT_TRUE(check_config_size(std::string(256 << 10, 'x')).has_value());
  EXPECT_EQ(check_config_size(std::string((256 << 10) + 1, 'x')).error().code,
            ErrorCode::kInvalidArgument);
}

/// What makes a configuration grow, or unreadable, once it is stored as JSON with its defaults.
TEST(Configurations, WhatIsStoredOfAConfigurationCanBeReadAgain) {
  const std::string base =
      "entrypoint: 'true'\nsearcher: {name: single, metric: loss, max_length: {batches: 5}}\n";
  const std::string fitting =
      base + "description: '" + std::string((256 << 10) - base.size() - 20, 'a') + "'\n";
  std::string quoted = base + "environment: {environment_variables: [A=1234567";
  for (int i = 0; i < 24'000; ++i) quoted += ",A=1234567";
  quoted += "]}\n";
  ASSERT_LE(quoted.size(), std::size_t{256} << 10);
  std::string repeated = base + "data:\n  base: &b {text: " + std::string(40'000, 't') + "}\n";
  for (int i = 0; i < 8; ++i) repeated += fmt::format("  v{}: *b\n", i);
  ASSERT_LE(fitting.size(), std::size_t{256} << 10);
  for (const std::string& config : {fitting, quoted, repeated}) {
    SCOPED_TRACE(config.substr(0, 200));
    EXPECT_FALSE(check_experiment(config).has_value());
    Lab lab;
    const Reply reply = lab.ask(config);
    ASSERT_TRUE(reply.error.has_value());
    EXPECT_EQ(reply.error->code, ErrorCode::kInvalidArgument);
    EXPECT_NE(reply.error->text().find("256 KiB"), std::string::npos) << reply.error->text();
  }
  // A name of more than 1,024 characters, which YAML takes by its long form alone.
  Lab lab;
  const ExperimentId id = lab.create(base + "data:\n  ? " + std::string(1500, 'k') + "\n  : 1\n");
  EXPECT_EQ(lab.trial_count(), 1U);
  EXPECT_TRUE(config_of(*lab.experiment(id).spec).has_value());
}

TEST(Configurations, OneWhoseStoredTextCannotBeReadEndsAloneAndSaysWhy) {
  Lab lab;
  lab.create(random_search(1, 1));
  ExperimentCreated damaged;
  for (const EventBatchRef& batch : lab.rig.published) {
    for (const Event& event : batch->events) {
      if (const auto* created = get_if<ExperimentCreated>(&event.body)) damaged = *created;
    }
  }
  auto spec = std::make_shared<ExperimentSpec>(*damaged.spec);
  spec->config = "{";
  const auto failed = searcher_of(*spec, nullptr);
  EXPECT_FALSE(failed.has_value());
  const std::string state = "not what was saved";
  EXPECT_FALSE(searcher_of(*lab.experiment().spec, &state).has_value());
  EventBatch batch;
  damaged.experiment = ExperimentId(9);
  damaged.spec = spec;
  batch.events.push_back(Event{lab.rig.now, damaged});
  SearchAsked asked{ExperimentId(9), {SearchBegun{}}};
  batch.events.push_back(Event{lab.rig.now, asked});
  SearchRole role;
  role.apply(batch);
  const auto decisions = role.decide(lab.rig.now);
  ASSERT_EQ(decisions.size(), 1U);
  ASSERT_TRUE(decisions[0].failure.has_value());
  // As the core takes it up: of the experiment that is there.
  SearchDecision of_one = decisions[0];
  of_one.decided.experiment = ExperimentId(1);
  of_one.basis = lab.experiment().covered;
  lab.rig.done(of_one, kRoot);
  lab.run_until_idle();
  EXPECT_EQ(lab.experiment().state, ExperimentState::kStoppingError);
  EXPECT_NE(lab.experiment().detail.find("its search cannot go on"), std::string::npos)
      << lab.experiment().detail;
}

/// A variable that is longer starts no program, and what is put into the entrypoint may be put in a
/// thousand times.
TEST(Configurations, WhatNoProgramCouldBeToldIsRefused) {
  const std::string large(100'000, 'x');
  std::string often;
  for (int i = 0; i < 7000; ++i) often += "{{hp.a}}";
  const auto refused = [](const std::string& entrypoint, const std::string& hyperparameters,
                          std::uint32_t trials) {
    Lab lab;
    const Reply reply = lab.ask(
        fmt::format("entrypoint: '{}'\nsearcher: {{name: random, metric: loss, max_trials: {}}}\n"
                    "hyperparameters: {}\n",
                    entrypoint, trials, hyperparameters));
    return reply.error ? reply.error->text() : "";
  };
  EXPECT_NE(refused(often, "{a: " + large + "}", 1)
                .find("hyperparameters: the entrypoint, with hyperparameters put in"),
            std::string::npos);
  EXPECT_NE(refused("true", "{a: " + large + ", b: " + large + "}", 1)
                .find("the hyperparameters of one trial come to 2000"),
            std::string::npos);
  EXPECT_NE(refused("true", "{a: " + large + "}", 2048)
                .find("2048 trials with 100009 bytes each are more than 128 MiB in all"),
            std::string::npos);
  EXPECT_EQ(refused("true {{hp.a}}", "{a: " + large + "}", 100), "");
}

TEST(Configurations, HyperparametersHaveABoundOnTheirNumber) {
  const auto answer = [](std::uint32_t count) {
    std::string file =
        "entrypoint: 'true'\nsearcher: {name: random, metric: loss, max_trials: "
        "1}\nhyperparameters:\n";
    for (std::uint32_t i = 0; i < count; ++i) file += fmt::format("  h{}: 1\n", i);
    return check_experiment(file);
  };
  EXPECT_TRUE(answer(2000).has_value());
  const auto refused = answer(2001);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().text().find("2001 are more than the 2000"), std::string::npos)
      << refused.error().text();
}

/// Of a population only a part is replaced after each round.
TEST(Configurations, ThePopulationsTrialsAreCountedAsTheyAreMade) {
  const auto answer = [](std::uint32_t rounds) {
    return check_experiment(fmt::format(
        "entrypoint: 'true'\nhyperparameters: {{a: {}}}\nsearcher: {{name: pbt, metric: loss, "
        "population_size: 100, num_rounds: {}, length_per_round: {{batches: 1}}, "
        "replace_function: {{truncate_fraction: 0.1}}, explore_function: {{resample_probability: "
        "0, perturb_factor: 0}}}}\n",
        std::string(2000, 'x'), rounds));
  };
  const auto taken = answer(6000);
  EXPECT_TRUE(taken.has_value()) << taken.error().text();
  const auto refused = answer(9000);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().text().find("90100 trials with 2009 bytes each"), std::string::npos)
      << refused.error().text();
}

/// To be changed into what this version's door would not let in.
auto as_the_door_makes_it() {
  CreateExperiment create;
  create.config = random_search(1, 1);
  create.job = testing::spec_of("base");
  LastBlob last;
  auto prepared =
      prepare_experiment(std::move(create), testing::kAlice, CallerNames{"alice", "users"}, last);
  return std::move(prepared).value();
}

/// What the door did not see: an experiment of an older version, or of a search that is the user's
/// own.
TEST(Configurations, ATrialThatCannotBeStartedEndsWithTheReasonAndDrainsNoNode) {
  Lab lab;
  auto prepared = as_the_door_makes_it();
  auto spec = std::make_shared<ExperimentSpec>(*prepared.spec);
  spec->entrypoint = std::string(kVariableBytesMax, '#');
  prepared.spec = std::move(spec);
  ASSERT_FALSE(lab.rig.done(std::move(prepared)).error);
  for (int i = 0; i < 20; ++i) {
    lab.run_until_idle();
    lab.rig.pass(Duration::seconds(1));
  }
  EXPECT_EQ(lab.rig.count_sent<LaunchStep>(0) + lab.rig.count_sent<LaunchStep>(1), 0U);
  EXPECT_EQ(lab.trial(1).state, TrialState::kError);
  EXPECT_NE(lab.trial(1).detail.find("with hyperparameters put in"), std::string::npos)
      << lab.trial(1).detail;
  for (const Node& node : lab.rig.core.state().nodes().all())
    EXPECT_EQ(node.status.conditions & node_condition::kDrain, 0);
}

/// Taken by a version with other bounds: what it says is not judged again, only what is said anew.
TEST(Configurations, WhatIsStoredMayBeContinuedAsItIs) {
  Lab lab;
  auto prepared = as_the_door_makes_it();
  auto spec = std::make_shared<ExperimentSpec>(*prepared.spec);
  Json config = parse_json(spec->config).value();
  config.at(std::vector<std::string>{"hyperparameters", "large"}) =
      Json(std::string(kVariableBytesMax, 'x'));
  spec->config = json_text(config);
  prepared.spec = std::move(spec);
  ASSERT_FALSE(lab.rig.done(std::move(prepared)).error);
  const auto continued = [&](const std::string& overrides) {
    auto answer = prepare_continuation({ExperimentId(1), overrides}, lab.rig.core.state());
    return answer.has_value() ? "" : answer.error().text();
  };
  EXPECT_EQ(continued(""), "");
  EXPECT_EQ(continued("max_restarts: 1"), "");
  EXPECT_NE(continued("hyperparameters: {large: " + std::string(kVariableBytesMax, 'y') + "}"), "");
}

TEST(Configurations, ANulIsRefusedWhereverItStands) {
  const auto refused = [](const std::string& yaml) {
    Lab lab;
    const Reply reply = lab.ask(
        "entrypoint: 'true'\nsearcher: {name: single, metric: loss, max_length: {batches: 5}}\n" +
        yaml);
    EXPECT_TRUE(reply.error.has_value()) << yaml;
    return reply.error ? reply.error->text() : "";
  };
  EXPECT_NE(refused("environment: {environment_variables: [\"A\\0B=1\"]}")
                .find("environment.environment_variables"),
            std::string::npos);
  EXPECT_NE(refused("environment: {environment_variables: [\"A=1\\0\"]}").find("NUL"),
            std::string::npos);
  EXPECT_NE(refused("hyperparameters: {a: \"q\\0\"}").find("hyperparameters.a"), std::string::npos);
  EXPECT_NE(refused("data: {\"n\\0\": 1}").find("NUL in the name"), std::string::npos);
}

TEST(Configurations, NumbersOfTrialsAndSizesOfVariablesHaveBounds) {
  const std::string base =
      "entrypoint: 'true'\nsearcher: {name: single, metric: loss, max_length: {batches: 5}, "
      "source_trial_id: ";
  EXPECT_FALSE(check_experiment(base + "4294967394}").has_value());
  EXPECT_TRUE(check_experiment(base + "4294967295}").has_value());
  const std::string variable = "1}\nenvironment: {environment_variables: [\"A=";
  EXPECT_TRUE(
      check_experiment(base + variable + std::string((128 << 10) - 3, 'x') + "\"]}").has_value());
  const auto large = check_experiment(base + variable + std::string((128 << 10) - 2, 'x') + "\"]}");
  ASSERT_FALSE(large.has_value());
  EXPECT_NE(large.error().text().find("the variable A has"), std::string::npos)
      << large.error().text();
}

/// As scripts of Determined's Core API up to 0.37 count: in the searcher's unit, which they report
/// as steps alone.
TEST(Configuration, ASearchThatDecidesNothingByTimeNeedsNoTimeMetric) {
  for (const char* searcher : {"name: single, max_length: {epochs: 5}",
                               "name: random, max_trials: 1, max_length: {records: 7}"}) {
    Lab lab;
    lab.create(
        fmt::format("{{name: e, entrypoint: train, searcher: {{metric: acc, {}}}}}", searcher));
    ReportTrial report;
    report.trial = TrialId(1);
    report.run = 1;
    report.steps = 1;
    report.metrics = {{"acc", 0.5}};
    EXPECT_FALSE(lab.rig.done(report).error) << searcher;
    lab.run_until_idle();
    EXPECT_EQ(lab.experiment().state, ExperimentState::kActive) << lab.experiment().detail;
    EXPECT_EQ(lab.trial(1).metric, 0.5);
    EXPECT_EQ(lab.trial(1).units, 0) << "steps are no epochs";
    lab.exit(1);
    EXPECT_EQ(lab.experiment().state, ExperimentState::kCompleted) << lab.experiment().detail;
  }
}

}  // namespace
}  // namespace muster

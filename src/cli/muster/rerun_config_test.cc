#include "cli/muster/rerun_config.h"

#include <gtest/gtest.h>

#include "text/json_text.h"

namespace muster::cli {
namespace {

ExperimentSpec spec_of(const std::string& time_metric) {
  ExperimentSpec spec;
  spec.config =
      R"({"name": "e", "searcher": {"name": "adaptive_asha"}, "hyperparameters": {"lr": {"type": "log"}}})";
  spec.metric = "loss";
  spec.time_metric = time_metric;
  spec.seed = 77;
  return spec;
}
TrialView trial_of(double units) {
  TrialView trial;
  trial.hparams = R"({"lr": 0.5, "net": {"depth": 2}})";
  trial.seed = 1234;
  trial.units = units;
  return trial;
}

TEST(Rerun, AnExperimentKeepsTheSeedThatItHad) {
  const Json config = *rerun_of(spec_of("epochs"));
  EXPECT_EQ(json_text(*config.find("reproducibility")), R"({"experiment_seed": 77})");
  EXPECT_EQ(json_text(*config.find("searcher")), R"({"name": "adaptive_asha"})");
}

TEST(Rerun, ATrialHasItsHyperparametersItsSeedAndItsTraining) {
  const Json config = *rerun_of(spec_of("epochs"), trial_of(4));
  EXPECT_EQ(json_text(*config.find("hyperparameters")), R"({"lr": 0.5, "net": {"depth": 2}})");
  EXPECT_EQ(
      json_text(*config.find("searcher")),
      R"({"name": "single", "metric": "loss", "smaller_is_better": true, "max_length": {"epochs": 4}})");
  EXPECT_EQ(json_text(*config.find("reproducibility")),
            R"({"experiment_seed": 77, "trial_seed": 1234})");
}

TEST(Rerun, UnitsThatCannotBeCountedAreLeftToTheScript) {
  const Json config = *rerun_of(spec_of("examples_seen"), trial_of(4));
  EXPECT_EQ(
      json_text(*config.find("searcher")),
      R"({"name": "single", "metric": "loss", "smaller_is_better": true, "time_metric": "examples_seen"})");
}

TEST(Rerun, WhatATrialBeganWithItBeginsWithAgain) {
  TrialView trial = trial_of(0);
  trial.source = "aaa";
  EXPECT_EQ(*rerun_of(spec_of(""), trial)->find("searcher")->find("source_checkpoint_uuid")->text(),
            "aaa");
}

}  // namespace
}  // namespace muster::cli

#include "platform/rules/retention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace muster {
namespace {

/// Ten checkpoints of one trial, after 1 to 10 steps, whose metric grows by `factor` with each.
std::set<int> retained_steps(double factor, const CheckpointRetention& retention,
                             bool smaller_is_better = true) {
  std::vector<RatedCheckpoint> all;
  double metric = 1;
  for (int step = 1; step <= 10; ++step) {
    metric *= factor;
    all.push_back({std::to_string(step), TrialId(1), metric});
  }
  std::set<int> kept{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  for (const std::string& uuid : unretained(all, retention, smaller_is_better))
    kept.erase(std::stoi(uuid));
  return kept;
}

// Determined 0.38's own vectors.
TEST(Retention, KeepsTheBestAndTheLatest) {
  const CheckpointRetention retention{3, 1, 2};
  EXPECT_EQ(retained_steps(0.9, retention), (std::set<int>{8, 9, 10}));
  EXPECT_EQ(retained_steps(1.1, retention), (std::set<int>{1, 2, 3, 9, 10}));
}

TEST(Retention, LargerMayBeBetter) {
  EXPECT_EQ(retained_steps(1.1, {2, 0, 0}, false), (std::set<int>{9, 10}));
}

TEST(Retention, NothingIsKeptOfNothing) { EXPECT_TRUE(retained_steps(0.9, {0, 0, 0}).empty()); }

TEST(Retention, ATrialsBestIsKeptWhateverOthersHave) {
  const std::vector<RatedCheckpoint> all{{"a", TrialId(1), 0.1},
                                         {"b", TrialId(1), 0.2},
                                         {"c", TrialId(2), 5.0},
                                         {"d", TrialId(2), 6.0}};
  EXPECT_EQ(unretained(all, {0, 1, 0}, true), (std::vector<std::string>{"b", "d"}));
  EXPECT_EQ(unretained(all, {2, 0, 0}, true), (std::vector<std::string>{"c", "d"}));
  EXPECT_EQ(unretained(all, {0, 0, 1}, true), (std::vector<std::string>{"a", "c"}));
}

TEST(Retention, WithoutAMetricOnlyTheLatestCount) {
  const std::vector<RatedCheckpoint> all{{"a", TrialId(1), std::nullopt},
                                         {"b", TrialId(1), std::nan("")},
                                         {"c", TrialId(1), std::nullopt}};
  EXPECT_EQ(unretained(all, {5, 5, 0}, true), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(unretained(all, {0, 0, 2}, true), (std::vector<std::string>{"a"}));
}

/// As a journal has it that was written before retention was recorded.
Experiment old_experiment(const std::string& storage) {
  auto spec = std::make_shared<ExperimentSpec>();
  spec->config = R"({"checkpoint_storage": )" + storage + "}";
  Experiment experiment;
  experiment.spec = std::move(spec);
  return experiment;
}

TEST(Retention, WhatAnOlderVersionDidNotRecordIsReadFromTheConfiguration) {
  EXPECT_EQ(unrecorded_retention(old_experiment(R"({"save_trial_latest": 5})")),
            (CheckpointRetention{0, 1, 5}));
  EXPECT_EQ(unrecorded_retention(old_experiment(R"({"save_trial_latest": 1})")), std::nullopt);
  EXPECT_EQ(unrecorded_retention(old_experiment("null")), std::nullopt);
  Experiment changed = old_experiment(R"({"save_trial_latest": 5})");
  changed.retention.trial_latest = 2;
  EXPECT_EQ(unrecorded_retention(changed), std::nullopt) << "what its owner set since then holds";
}

}  // namespace
}  // namespace muster

#include "api/determined/experiment_patch.h"

#include <gtest/gtest.h>

#include "text/json_reader.h"

namespace muster::api {
namespace {

Result<UpdateExperiment> update_by(const char* body) {
  ExperimentLabels labels;
  labels.labels = {"a", "b"};
  ExperimentSpec spec;
  CheckpointRetention retention;
  return experiment_update(parse_json(body).value(), ExperimentId(3), {labels, spec, retention});
}

TEST(ExperimentPatch, ChangesWhatItNames) {
  const UpdateExperiment update =
      update_by(R"({"name": "n", "notes": null, "labels": ["b", "c"], "visibility": "private",
                    "resources": {"priority": 5, "weight": 2, "maxSlots": "4"},
                    "checkpointStorage": {"saveTrialBest": 3, "save_trial_latest": null}})")
          .value();
  EXPECT_EQ(update.experiment, ExperimentId(3));
  EXPECT_EQ(update.name, "n");
  EXPECT_FALSE(update.notes);
  EXPECT_EQ(update.add_labels, (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(update.remove_labels, std::vector<std::string>{"a"});
  EXPECT_EQ(update.visibility, Visibility::kPrivate);
  EXPECT_EQ(update.priority, 5U);
  EXPECT_EQ(update.weight, 2);
  EXPECT_EQ(update.max_slots, 4U);
  EXPECT_EQ(update.retention->trial_best, 3U);
  EXPECT_EQ(update.retention->trial_latest, 1U);
  EXPECT_EQ(update_by(R"({"labels": []})").value().remove_labels.size(), 2U);
  EXPECT_TRUE(update_by(R"({"labels": null})").value().remove_labels.empty());
}

TEST(ExperimentPatch, RefusesByNameWhatIsNotWhatItShouldBe) {
  const struct {
    const char* body;
    const char* name;
  } cases[] = {
      {R"({"labels": [1]})", "labels"},
      {R"({"labels": ["a", null]})", "labels"},
      {R"({"labels": "a"})", "labels"},
      {R"({"name": 1})", "name"},
      {R"({"description": []})", "description"},
      {R"({"visibility": 1})", "visibility"},
      {R"({"visibility": "all"})", "visibility"},
      {R"({"resources": [1]})", "resources"},
      {R"({"resources": {"priority": "high"}})", "resources.priority"},
      {R"({"resources": {"priority": 1.5}})", "resources.priority"},
      {R"({"resources": {"weight": "2"}})", "resources.weight"},
      {R"({"resources": {"maxSlots": true}})", "resources.maxSlots"},
      {R"({"resources": {"max_slots": 0}})", "resources.maxSlots"},
      {R"({"checkpointStorage": "s3"})", "checkpointStorage"},
      {R"({"checkpointStorage": {"saveTrialBest": "x"}})", "checkpointStorage.saveTrialBest"},
      {R"({"checkpointStorage": {"saveTrialBest": -1}})", "checkpointStorage.saveTrialBest"},
  };
  for (const auto& [body, name] : cases) {
    const auto update = update_by(body);
    ASSERT_FALSE(update.has_value()) << body;
    EXPECT_EQ(update.error().code, ErrorCode::kInvalidArgument) << body;
    EXPECT_NE(update.error().message.find(name), std::string::npos) << update.error().text();
  }
}

}  // namespace
}  // namespace muster::api

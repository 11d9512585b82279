#include "trials/determined_text.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "text/json_text.h"
#include "trials/collection_text.h"
#include "trials/trial_text.h"

namespace muster {
namespace {

ExperimentSpec spec_of(const std::string& storage, const std::string& folder) {
  ExperimentSpec spec;
  spec.config = R"({"checkpoint_storage": )" + storage + "}";
  spec.run_folder = folder;
  return spec;
}

std::string shown(const ExperimentSpec& spec) {
  return json_text(*determined_config(spec).find("checkpoint_storage"));
}

TEST(DeterminedText, StorageIsShownAsItsClientsTakeIt) {
  EXPECT_EQ(
      shown(spec_of("null", "/home/a/muster-runs/experiment-1")),
      R"({"type": "shared_fs", "host_path": "/home/a/muster-runs", "storage_path": null, "propagation": "rprivate", )"
      R"("save_experiment_best": 0, "save_trial_best": 1, "save_trial_latest": 1})");
  const ExperimentSpec local =
      spec_of(R"({"type": "directory", "container_path": "/ckpt/", "save_trial_latest": 3})",
              "/ckpt/experiment-1");
  EXPECT_EQ(
      shown(local),
      R"({"type": "directory", "container_path": "/ckpt", "save_experiment_best": 0, "save_trial_best": 1, "save_trial_latest": 3})");
  EXPECT_EQ(storage_folder(local), "/ckpt") << "what scripts find as /determined_shared_fs";
}

TEST(DeterminedText, ADirectorysCheckpointsAreCollectedAsFolders) {
  Doomed doomed;
  add_checkpoint(
      doomed, spec_of(R"({"type": "directory", "container_path": "/ckpt"})", "/ckpt/experiment-1"),
      TrialId(2), "u");
  EXPECT_EQ(doomed.folders,
            (std::vector<std::string>{"/ckpt/u", "/ckpt/experiment-1/trial-2/checkpoints/u"}));
  EXPECT_TRUE(doomed.uuids.empty());
}

/// Outgoing connections of the host once had the port that a rank was to listen on.
TEST(DeterminedText, PortsOfTrialsAreTheirOwnAndNoneThatConnectionsAreGiven) {
  Experiment experiment;
  experiment.spec = std::make_shared<ExperimentSpec>(spec_of("null", "/e/experiment-1"));
  std::set<int> seen;
  for (const std::uint32_t id : {1U, 2U, 999U, 1000U}) {
    Trial trial;
    trial.id = TrialId(id);
    for (const std::string& variable :
         determined_variables(experiment, trial, 1, TrialLocation())) {
      const std::size_t name = variable.find("PORT");
      if (name == std::string::npos) continue;
      const int port = std::stoi(variable.substr(variable.find('=') + 1));
      EXPECT_TRUE(seen.insert(port).second) << variable;
      EXPECT_GE(port, 1024) << variable;
      EXPECT_LT(port, 32'768) << variable;
    }
  }
  EXPECT_EQ(seen.size(), 16U);
}

}  // namespace
}  // namespace muster

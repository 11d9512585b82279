#include "codec/determined_text.h"

#include <gtest/gtest.h>

#include "codec/collection_text.h"
#include "codec/json_text.h"
#include "codec/trial_text.h"

namespace muster {
namespace {

ExperimentSpec spec_of(const std::string& storage, const std::string& folder) {
  ExperimentSpec spec;
  spec.config = R"({"checkpoint_storage": )" + storage + "}";
  spec.run_folder = folder;
  return spec;
}

std::string shown(const ExperimentSpec& spec) { return json_text(*determined_config(spec).find("checkpoint_storage")); }

TEST(DeterminedText, StorageIsShownAsItsClientsTakeIt) {
  EXPECT_EQ(shown(spec_of("null", "/home/a/muster-runs/experiment-1")),
            R"({"type": "shared_fs", "host_path": "/home/a/muster-runs", "storage_path": null, "propagation": "rprivate", )"
            R"("save_experiment_best": 0, "save_trial_best": 1, "save_trial_latest": 1})");
  const ExperimentSpec local = spec_of(R"({"type": "directory", "container_path": "/ckpt/", "save_trial_latest": 3})", "/ckpt/experiment-1");
  EXPECT_EQ(shown(local), R"({"type": "directory", "container_path": "/ckpt", "save_experiment_best": 0, "save_trial_best": 1, "save_trial_latest": 3})");
  EXPECT_EQ(storage_folder(local), "/ckpt") << "what scripts find as /determined_shared_fs";
}

TEST(DeterminedText, ADirectorysCheckpointsAreCollectedAsFolders) {
  Doomed doomed;
  add_checkpoint(doomed, spec_of(R"({"type": "directory", "container_path": "/ckpt"})", "/ckpt/experiment-1"), TrialId(2), "u");
  EXPECT_EQ(doomed.folders, (std::vector<std::string>{"/ckpt/u", "/ckpt/experiment-1/trial-2/checkpoints/u"}));
  EXPECT_TRUE(doomed.uuids.empty());
}

}  // namespace
}  // namespace muster

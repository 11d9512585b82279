#include "trials/determined_text.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "text/json_text.h"
#include "text/yaml_text.h"
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

constexpr std::string_view kCluster = "0b7e9a42-1111-4222-8333-123456789abc";

TEST(TaskName, SaysWhichTrialAndRunItIs) {
  for (const std::uint32_t trial : {1U, 7U, 65'536U, 4'294'967'295U}) {
    const std::string task = task_name(kCluster, ExperimentId(12), TrialId(trial));
    EXPECT_EQ(task.size(), 3 + 36U);
    EXPECT_TRUE(task.starts_with("12."));
    EXPECT_EQ(parse_task_name(task)->trial, TrialId(trial));
    EXPECT_EQ(parse_task_name(task)->run, 0U);
    const std::string allocation = allocation_name(kCluster, ExperimentId(12), TrialId(trial), 3);
    EXPECT_EQ(allocation, task + ".3");
    EXPECT_EQ(parse_task_name(allocation)->run, 3U);
  }
  EXPECT_NE(task_name(kCluster, ExperimentId(1), TrialId(7)),
            task_name("another", ExperimentId(1), TrialId(7)));
}

TEST(TaskName, OfAnotherFormIsNone) {
  const std::string task = task_name(kCluster, ExperimentId(1), TrialId(7));
  for (const std::string& text :
       {std::string(), std::string("1"), std::string("1."), task.substr(0, task.size() - 1),
        task + "x", task + ".", task + ".x", task + ".1.2", task + ".4294967296",
        std::string("1.") + std::string(36, 'g'),
        std::string("1.00000000-0000-4000-8000-ffffffffffff")})
    EXPECT_FALSE(parse_task_name(text).has_value()) << text;
}

TEST(UuidText, HasTheFormOfVersionFour) {
  EXPECT_EQ(uuid_text(0, 0), "00000000-0000-4000-8000-000000000000");
  EXPECT_EQ(uuid_text(UINT64_MAX, UINT64_MAX), "ffffffff-ffff-4fff-8fff-ffffffffffff");
  EXPECT_EQ(uuid_text(0x0123456789abcdef, 0x0fedcba987654321),
            "01234567-89ab-4def-8fed-cba987654321");
}

TEST(DeterminedText, ScriptsFindWhatTheyAreInFiles) {
  auto spec = std::make_shared<ExperimentSpec>();
  spec->config = R"({"name": "x", "resources": {"slots_per_trial": 8}})";
  spec->run_folder = "/home/a/runs/experiment-12";
  spec->slots_per_trial = 8;
  Experiment experiment;
  experiment.id = ExperimentId(12);
  experiment.spec = spec;
  Trial one;
  one.id = TrialId(7);
  one.seed = 99;
  one.hparams = R"({"lr": 0.1})";
  TrialLocation place;
  place.cluster = std::string(kCluster);
  place.master = "http://head:8080";
  place.slots = {0, 3};
  place.addresses = {"10.0.0.1", "10.0.0.2"};
  place.slot_counts = {2, 2};
  place.node_rank = 1;
  const auto files = determined_files(experiment, one, 2, place);
  ASSERT_EQ(files.size(), 4U);
  EXPECT_EQ(files[0].name, "/run/determined/info/cluster.json");
  const Json cluster = stored_json(files[0].text);
  EXPECT_EQ(*cluster.find("slot_ids"), Json(Json::Array{0, 3}));
  EXPECT_TRUE(cluster.find("latest_checkpoint")->is_null());
  const Json training = stored_json(files[1].text);
  EXPECT_EQ(*training.find("trial_id"), Json(7));
  EXPECT_EQ(*training.find("trial_run_id"), Json(2));
  EXPECT_EQ(*training.find("hparams")->find("lr"), Json(0.1));
  EXPECT_EQ(*training.find("config")->find("resources")->find("slots_per_trial"), Json(8));
  const Json rendezvous = stored_json(files[2].text);
  EXPECT_EQ(*rendezvous.find("container_rank"), Json(1));
  EXPECT_EQ(*rendezvous.find("container_addrs"), Json(Json::Array{"10.0.0.1", "10.0.0.2"}));
  EXPECT_EQ(files[3].text, R"({"gpu_uuids": []})");
}

TEST(TaskNames, AreReadBack) {
  const std::string cluster = "774aef9f-d754-42e0-8ca0-aee09bf1ed9d";
  const std::string task = task_name(cluster, ExperimentId(3), TrialId(4'000'000'000));
  EXPECT_EQ(task.substr(0, 2), "3.");
  EXPECT_EQ(task.size(), 2U + 36U);
  EXPECT_EQ(parse_task_name(task)->trial, TrialId(4'000'000'000));
  const std::string allocation = allocation_name(cluster, ExperimentId(3), TrialId(9), 12);
  EXPECT_EQ(parse_task_name(allocation)->trial, TrialId(9));
  EXPECT_EQ(parse_task_name(allocation)->run, 12U);
  EXPECT_NE(task_name("another", ExperimentId(3), TrialId(9)),
            task_name(cluster, ExperimentId(3), TrialId(9)));
  for (const std::string& text :
       {std::string(), std::string("3"), std::string("3.x"), allocation + "x", allocation + ".1",
        task.substr(0, 26) + "0001ffffffff"}) {
    EXPECT_FALSE(parse_task_name(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace muster

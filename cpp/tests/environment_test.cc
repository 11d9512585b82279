#include "environment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <limits>

#include "json.h"

namespace muster::core {
namespace {

Variables trial() {
  return {{"DET_MASTER", "http://10.0.0.1:8080/muster/"},
          {"DET_SESSION_TOKEN", "t"},
          {"DET_TRIAL_ID", "7"},
          {"DET_TRIAL_RUN_ID", "2"},
          {"DET_ALLOCATION_ID", "3.abc.2"},
          {"DET_TASK_ID", "3.abc"}};
}

/// The words of the refusal.
std::string refusal(const Variables& variables) {
  try {
    read_environment(variables);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Value, KeepsWhatItIsGivenAndSaysWhatItIsNot) {
  const Value value =
      Value::Map{{"lr", 0.5},     {"layers", 3},     {"flag", true},
                 {"name", "sgd"}, {"none", nullptr}, {"nested", Value::Map{{"depth", 2}}}};
  EXPECT_EQ(value["lr"].as_double(), 0.5);
  EXPECT_EQ(value["layers"].as_int(), 3);
  EXPECT_EQ(value["layers"].as_double(), 3.0);
  EXPECT_EQ(Value(4.0).as_int(), 4);
  EXPECT_TRUE(value["flag"].as_bool());
  EXPECT_EQ(value["nested"]["depth"].as_int(), 2);
  EXPECT_EQ(value.get("name", "adam"), "sgd");
  EXPECT_EQ(value.get("none", 7), 7);
  EXPECT_EQ(value.get("missing", 0.25), 0.25);
  EXPECT_THROW(value["missing"], std::invalid_argument);
  EXPECT_THROW(Value(4.5).as_int(), std::invalid_argument);
  EXPECT_THROW(Value(1e300).as_int(), std::invalid_argument);
  try {
    value.get("name", 1);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "name: \"sgd\" is no whole number");
  }
}

TEST(Json, SpellsNumbersThatJsonLacks) {
  const Value value =
      Value::List{std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                  -std::numeric_limits<double>::infinity(), 0.1};
  const std::string text = json_of(value);
  EXPECT_EQ(text, R"(["NaN","Infinity","-Infinity",0.1])");
  const Value back = decoded(parse_json("it", text));
  EXPECT_TRUE(std::isnan(back.as_list()[0].as_double()));
  EXPECT_EQ(back.as_list()[2].as_double(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(json_of(Value("a\xff")), "\"a\xef\xbf\xbd\"");
  EXPECT_THROW(parse_json("it", "{"), std::invalid_argument);
}

TEST(Environment, IsEmptyOnALaptop) {
  const Environment environment = read_environment({{"MUSTER_RUN_DIR", ""}});
  EXPECT_FALSE(environment.controller || environment.run_dir || environment.checkpoint_storage);
  EXPECT_EQ(environment.hparams, Value(Value::Map{}));
  EXPECT_EQ(environment.stop_signal, SIGTERM);
}

TEST(Environment, ReadsATrialsVariables) {
  Variables variables = trial();
  variables.insert({{"MUSTER_HPARAMS", R"({"lr": 0.1})"},
                    {"MUSTER_MAX_LENGTH", R"({"epochs": 64})"},
                    {"MUSTER_SEED", "5"},
                    {"MUSTER_STOP_SIGNAL", "USR1"},
                    {"MUSTER_CHECKPOINT_STORAGE", "/data"},
                    {"DET_LATEST_CHECKPOINT", "u"},
                    {"MUSTER_CONTROLLER_RETRY_TIMEOUT", "1.5"}});
  const Environment environment = read_environment(variables);
  const Controller& controller = *environment.controller;
  EXPECT_EQ(controller.host + ":" + std::to_string(controller.port) + controller.prefix,
            "10.0.0.1:8080/muster");
  EXPECT_EQ(controller.trial, 7);
  EXPECT_EQ(controller.retry_timeout_s, 1.5);
  EXPECT_EQ(controller.latest_checkpoint, "u");
  EXPECT_EQ(environment.run_id, 2) << "the controller's, when MUSTER_RUN_ID says nothing";
  EXPECT_EQ(environment.hparams["lr"].as_double(), 0.1);
  EXPECT_EQ(environment.max_length->length, 64);
  EXPECT_EQ(environment.max_length->unit, "epochs");
  EXPECT_EQ(environment.stop_signal, SIGUSR1);
}

TEST(Environment, TakesHyperparametersOneByOneWhereTheyAreNotGivenWhole) {
  const Environment environment = read_environment(
      {{"MUSTER_HP_LR", "0.5"}, {"MUSTER_HP_NAME", "sgd"}, {"MUSTER_HP_EMPTY", ""}});
  EXPECT_EQ(environment.hparams, Value(Value::Map{{"lr", 0.5}, {"name", "sgd"}}));
}

TEST(Environment, RefusesByName) {
  Variables variables = trial();
  variables.erase("DET_TASK_ID");
  EXPECT_NE(refusal(variables).find("DET_TASK_ID is not set"), std::string::npos);
  for (const char* url :
       {"https://a:1", "a:1", "http://", "http://a:x", "http://a:70000", "http://a/?b"}) {
    variables = trial();
    variables["DET_MASTER"] = url;
    EXPECT_NE(refusal(variables).find("http://host:port"), std::string::npos) << url;
  }
  EXPECT_NE(refusal({{"MUSTER_RUN_ID", "0"}}).find("MUSTER_RUN_ID is '0'"), std::string::npos);
  EXPECT_NE(refusal({{"MUSTER_DEADLINE", "soon"}}).find("a number of seconds"), std::string::npos);
  EXPECT_NE(refusal({{"MUSTER_STOP_SIGNAL", "KILL"}}).find("SIGTERM"), std::string::npos);
  EXPECT_NE(refusal({{"MUSTER_MAX_LENGTH", "0"}}).find("positive"), std::string::npos);
  EXPECT_NE(refusal({{"MUSTER_HPARAMS", "[1]"}}).find("JSON object"), std::string::npos);
}

TEST(Storage, IsAFolderHoweverItIsSaidAndNothingElse) {
  EXPECT_EQ(read_storage("it", "/data"), "/data");
  EXPECT_EQ(read_storage("it", R"({"type": "directory", "container_path": "/data"})"), "/data");
  EXPECT_EQ(
      read_storage(
          "it",
          R"({"type": "shared_fs", "host_path": "/data", "storage_path": "here", "save_trial_best": 1})"),
      "/data/here");
  for (const char* text :
       {"s3://bucket/x", R"({"type": "s3", "bucket": "b", "secret_key": "hidden"})",
        R"({"type": "gcs"})"}) {
    try {
      read_storage("MUSTER_CHECKPOINT_STORAGE", text);
      FAIL() << text;
    } catch (const std::invalid_argument& error) {
      const std::string said = error.what();
      EXPECT_NE(said.find("MUSTER_CHECKPOINT_STORAGE: storage of type "), std::string::npos);
      EXPECT_EQ(said.find("hidden"), std::string::npos);
    }
  }
}

TEST(Placement, IsTheLaunchers) {
  EXPECT_EQ(read_placement({}).size, 1);
  const Distributed torch = read_placement(
      {{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}});
  EXPECT_EQ(torch.cross_rank, 1);
  EXPECT_EQ(torch.cross_size, 2);
  const Distributed mpi = read_placement({{"OMPI_COMM_WORLD_RANK", "1"},
                                          {"OMPI_COMM_WORLD_SIZE", "2"},
                                          {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  EXPECT_EQ(mpi.local_rank, 1);
  const Distributed srun = read_placement({{"SLURM_PROCID", "4"},
                                           {"SLURM_NTASKS", "5"},
                                           {"SLURM_NNODES", "3"},
                                           {"SLURM_NODEID", "2"},
                                           {"SLURM_LOCALID", "0"},
                                           {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"},
                                           {"SLURM_STEP_NODELIST", "n[1-3]"}});
  EXPECT_EQ(srun.local_size, 1);
  EXPECT_EQ(srun.cross_rank, 2);
  EXPECT_EQ(read_placement({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}).size, 1)
      << "a batch script is one process";
  EXPECT_THROW(read_placement({{"RANK", "4"}, {"WORLD_SIZE", "4"}}), std::invalid_argument);
  EXPECT_THROW(read_placement({{"RANK", "x"}, {"WORLD_SIZE", "4"}}), std::invalid_argument);
}

}  // namespace
}  // namespace muster::core

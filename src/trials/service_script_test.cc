#include "trials/service_script.h"

#include <gtest/gtest.h>

#include "text/json_text.h"

namespace muster {
namespace {

ExperimentSpec script_spec_with(const std::string& config) {
  ExperimentSpec spec;
  spec.config = config;
  spec.run_folder = "/store/experiment-12";
  return spec;
}

TEST(ServiceScript, IsALineForTheShellAndAZipFile) {
  const std::string script = service_script();
  EXPECT_TRUE(script.starts_with("#!/bin/sh\n"));
  EXPECT_NE(script.find("exec python3 \"$0\"\nPK\x03\x04"), std::string::npos);
  EXPECT_NE(script.find("muster/services/announcer.py"), std::string::npos);
  EXPECT_EQ(script, service_script()) << "equal for all, so that it is stored once";
}

TEST(TensorboardWish, NamesFoldersByExperiment) {
  const auto spec = std::make_shared<const ExperimentSpec>(
      script_spec_with("checkpoint_storage: {type: shared_fs, host_path: /shared}"));
  const Json wish = tensorboard_wish({{ExperimentId(12), "my net/2", spec, {TrialId(3)}}},
                                     Duration::minutes(5), "cluster-id");
  EXPECT_EQ(
      json_text(wish),
      R"({"kind": "tensorboard", "idle_seconds": 300, "runs": [{"name": "my_net_2-12", "folders": )"
      R"(["/store/experiment-12/trial-{trial}/tensorboard", "/shared/cluster-id/tensorboard/experiment/12/trial/{trial}"], "trials": [3]}]})");
}

TEST(CheckpointWish, NamesWhereItMayLie) {
  EXPECT_EQ(
      json_text(checkpoint_wish(script_spec_with("{}"), TrialId(3), "u")),
      R"({"kind": "checkpoint", "uuid": "u", "storage": "", "folders": ["/store/u", "/store/experiment-12/trial-3/checkpoints/u"]})");
  const Json wish =
      checkpoint_wish(script_spec_with("checkpoint_storage: {type: s3, bucket: b, secret_key: s}"),
                      TrialId(3), "u");
  EXPECT_EQ(
      json_text(wish),
      R"({"kind": "checkpoint", "uuid": "u", "storage": "{\"type\": \"s3\", \"bucket\": \"b\", \"secret_key\": \"s\"}", "folders": []})");
}

TEST(WithService, AddsAVariable) {
  const std::string added("MUSTER_SERVICE={\"a\": 1}\0", 24);
  EXPECT_EQ(with_service(std::string("A=1\0", 4), Json::Object{{"a", 1}}),
            std::string("A=1\0", 4) + added);
  EXPECT_EQ(with_service("A=1", Json::Object{{"a", 1}}), std::string("A=1\0", 4) + added);
  EXPECT_EQ(with_service("", Json::Object{{"a", 1}}), added);
}

}  // namespace
}  // namespace muster

#include "trials/collection_text.h"

#include <gtest/gtest.h>

#include "model/job_spec.h"

namespace muster {
namespace {

ExperimentSpec spec_of(std::string config) {
  ExperimentSpec spec;
  spec.config = std::move(config);
  spec.run_folder = "/data/it's/experiment-3";
  return spec;
}

TEST(CollectionText, AFolderIsLookedForInTheStorageAndWithItsTrial) {
  const ExperimentSpec spec = spec_of("{}");
  Doomed doomed;
  add_checkpoint(doomed, spec, TrialId(7), "ab-c");
  EXPECT_EQ(doomed.folders,
            (std::vector<std::string>{"/data/it's/ab-c",
                                      "/data/it's/experiment-3/trial-7/checkpoints/ab-c"}));
  const std::string script = collection_script(spec, doomed);
  EXPECT_NE(script.find("remove '/data/it'\\''s/ab-c'\n"), std::string::npos) << script;
  EXPECT_EQ(script.find("python3"), std::string::npos);
}

TEST(CollectionText, WhatLiesInS3IsDeletedThere) {
  const ExperimentSpec spec =
      spec_of(R"({"checkpoint_storage": {"type": "s3", "bucket": "b", "save_trial_best": 1}})");
  Doomed doomed;
  add_checkpoint(doomed, spec, TrialId(7), "ab-c");
  EXPECT_TRUE(doomed.folders.empty());
  EXPECT_NE(
      collection_script(spec, doomed)
          .find(
              R"(MUSTER_CHECKPOINT_STORAGE='{"type": "s3", "bucket": "b"}' python3 -m muster.core.collection ab-c)"),
      std::string::npos)
      << collection_script(spec, doomed);
}

TEST(CollectionText, ANameIsNoPath) {
  EXPECT_TRUE(is_checkpoint_name("0f2d7c52-5f1c-4a39-9c22-0d8f4a3f5b11"));
  for (const char* name : {"", ".", "..", "a/b", "a b", "$x", "a\nb"})
    EXPECT_FALSE(is_checkpoint_name(name)) << name;
  EXPECT_FALSE(is_checkpoint_name(std::string(65, 'a')));
}

}  // namespace
}  // namespace muster

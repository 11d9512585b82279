#include "trials/config_secrets.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

ExperimentSpecRef spec_with(std::string original) {
  auto spec = std::make_shared<ExperimentSpec>();
  spec->user = UserId(1000);
  spec->config =
      R"({"checkpoint_storage": {"type": "s3", "bucket": "b", "access_key": "AK", "secret_key": "SK"}, "data": {}})";
  spec->original = std::move(original);
  return spec;
}

Identity user(std::uint32_t number, bool is_operator = false) {
  Identity identity;
  identity.user = UserId(number);
  identity.is_operator = is_operator;
  return identity;
}

TEST(ConfigSecrets, AreTheOwnersAndOperators) {
  const auto spec = spec_with("a: 1");
  EXPECT_EQ(spec_shown_to(user(1000), spec, false), spec);
  EXPECT_EQ(spec_shown_to(user(0, true), spec, false), spec);
}

TEST(ConfigSecrets, AreTakenOutForOthers) {
  const auto shown = spec_shown_to(user(1001),
                                   spec_with("name: x  # mine\ncheckpoint_storage: {type: s3, "
                                             "bucket: b, access_key: AK, secret_key: SK}\n"),
                                   true);
  EXPECT_EQ(shown->config, R"({"checkpoint_storage": {"type": "s3", "bucket": "b"}, "data": {}})");
  EXPECT_EQ(shown->original,
            R"({"name": "x", "checkpoint_storage": {"type": "s3", "bucket": "b"}})");
  EXPECT_EQ(shown->user, UserId(1000));
}

TEST(ConfigSecrets, OfDataToo) {
  const auto shown =
      spec_shown_to(user(1001), spec_with("data: {secrets: {k: v}, url: u}  # mine\n"), true);
  EXPECT_EQ(shown->original, R"({"data": {"url": "u"}})");
}

TEST(ConfigSecrets, WithoutThemATextStaysAsItWasWritten) {
  for (const char* original :
       {"name: x  # mine\n", "checkpoint_storage: {type: shared_fs, host_path: /d}  # ours\n"}) {
    EXPECT_EQ(spec_shown_to(user(1001), spec_with(original), true)->original, original);
  }
  EXPECT_EQ(spec_shown_to(user(1001), spec_with("{: not yaml"), true)->original, "");
}

TEST(ConfigSecrets, WhoMayNotReadGetsWhatListsShow) {
  auto spec = std::make_shared<ExperimentSpec>();
  spec->user = UserId(1000);
  spec->config =
      R"({"name": "n", "searcher": {"metric": "loss"}, "entrypoint": "x --key 1", "environment": {"environment_variables": ["K=hush"]}})";
  spec->original = "K=hush";
  spec->entrypoint = "x --key 1";
  spec->run_folder = "/home/ann/secret";
  const auto shown = spec_shown_to(user(1001), spec, false);
  EXPECT_EQ(shown->config, R"({"name": "n", "searcher": {"metric": "loss"}})");
  EXPECT_EQ(shown->original + shown->entrypoint + shown->run_folder, "");
  EXPECT_NE(spec_shown_to(user(1001), spec, true)->config.find("hush"), std::string::npos)
      << "it was opened";
}

}  // namespace
}  // namespace muster

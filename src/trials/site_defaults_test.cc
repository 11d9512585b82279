#include "trials/site_defaults.h"

#include <gtest/gtest.h>

#include "text/yaml_text.h"

namespace muster {
namespace {

constexpr std::string_view kSite = R"(
defaults:
  environment: {environment_variables: [PATH=/opt/site/bin:/usr/bin, HF_HOME=/data/hf]}
  checkpoint_storage: {type: shared_fs, host_path: /data/checkpoints}
  log_policies: [{name: Out of disk, pattern: ".*No space left.*", action: cancel_retries}]
partitions:
  debug:
    max_restarts: 0
    environment: {environment_variables: [STAGE=debug]}
)";

std::string error_of(std::string_view text) {
  const auto site = parse_site_defaults("site.yaml", text, {"main", "debug"});
  return site.has_value() ? "" : site.error().detail;
}

Json over(std::string_view config, std::string_view site = kSite) {
  const auto read = parse_site_defaults("site.yaml", site, {"main", "debug"});
  EXPECT_TRUE(read.has_value()) << read.error().text();
  return over_site_defaults(parse_yaml(config)->root, *read, "main");
}

TEST(SiteDefaults, StandWhereAnExperimentSaysNothing) {
  const Json found = over(
      "name: mine\nenvironment: {environment_variables: [HF_HOME=/home/me/hf]}\nlog_policies: "
      "[{name: Mine}]\n");
  EXPECT_EQ(*found.find("name"), Json("mine"));
  EXPECT_EQ(
      *found.find("environment")->find("environment_variables"),
      parse_yaml("[PATH=/opt/site/bin:/usr/bin, HF_HOME=/data/hf, HF_HOME=/home/me/hf]")->root)
      << "the last of a name counts";
  EXPECT_EQ(found.find("log_policies")->array()->size(), 2U);
  EXPECT_EQ(*found.find("checkpoint_storage")->find("host_path"), Json("/data/checkpoints"));
  EXPECT_EQ(found.find("max_restarts"), nullptr) << "of another partition";
  EXPECT_EQ(over("checkpoint_storage: {type: directory, container_path: /c}")
                .find("checkpoint_storage")
                ->object()
                ->size(),
            2U);
}

TEST(SiteDefaults, APartitionsStandOverTheClusters) {
  const Json found = over("resources: {resource_pool: debug}\nmax_restarts: 2\n");
  EXPECT_EQ(*found.find("max_restarts"), Json(2)) << "the experiment's own word";
  EXPECT_EQ(*found.find("environment")->find("environment_variables"),
            parse_yaml("[PATH=/opt/site/bin:/usr/bin, HF_HOME=/data/hf, STAGE=debug]")->root);
  const std::string site =
      "defaults: {resources: {resource_pool: debug}}\npartitions: {debug: {max_restarts: 1}, main: "
      "{max_restarts: 7}}\n";
  EXPECT_EQ(*over("name: x", site).find("max_restarts"), Json(1))
      << "the partition that the cluster's defaults name";
  EXPECT_EQ(*over("resources: {resource_pool: main}", site).find("max_restarts"), Json(7));
  EXPECT_EQ(*over("name: x", "partitions: {main: {max_restarts: 7}}").find("max_restarts"), Json(7))
      << "the partition of those who name none";
}

TEST(SiteDefaults, APartCompletesTheClustersWhereverThatStands) {
  const std::string cluster =
      "defaults: {checkpoint_storage: {type: shared_fs, host_path: /data}}\n";
  const std::string partition = "partitions: {main: {checkpoint_storage: {storage_path: fast}}}\n";
  EXPECT_NE(error_of(partition), "") << "of no kind by itself";
  EXPECT_EQ(error_of(cluster + partition), "");
  EXPECT_EQ(error_of(partition + cluster), "");
}

TEST(SiteDefaults, WhatIsWrongIsNamedWithItsLine) {
  EXPECT_EQ(error_of("default: {}\n"),
            "line 1: default: there is no such part; give defaults: and partitions:");
  EXPECT_EQ(
      error_of("defaults:\n  entrypoint: x\n")
          .find("line 2: defaults.entrypoint: a site cannot decide this; it can: environment, "),
      0U);
  EXPECT_EQ(error_of("defaults:\n  max_restarts: -1\n")
                .find("line 2: defaults.max_restarts: -1 is not possible"),
            0U);
  EXPECT_EQ(error_of("defaults:\n  environment: {image: x}\n")
                .find("line 2: defaults.environment.image: "),
            0U);
  EXPECT_EQ(error_of("partitions:\n  fast: {}\n"),
            "line 2: partitions.fast: there is no partition fast; there are debug, main");
  EXPECT_EQ(error_of("partitions:\n  main: {resources: {resource_pool: debug}}\n"),
            "line 2: partitions.main.resources.resource_pool: this is the partition's already; "
            "take it out");
  EXPECT_EQ(error_of("- x\n"), "line 1: it is no map; give defaults: and partitions:");
  EXPECT_EQ(error_of("defaults: [x]\n"),
            "line 1: defaults: it is no map; give fields as an experiment's file has them");
  EXPECT_NE(error_of("defaults: {\n"), "");
  EXPECT_EQ(error_of(""), "");
  EXPECT_EQ(error_of("defaults:\npartitions:\n"), "");
  EXPECT_FALSE(parse_site_defaults("site.yaml", "", {})->has_any());
}

}  // namespace
}  // namespace muster

#include "trials/config_layers.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "text/json_text.h"
#include "text/yaml_text.h"

namespace muster {
namespace {

std::string merged(std::string_view over, std::string_view under) {
  const auto upper = parse_yaml(over);
  const auto lower = parse_yaml(under);
  EXPECT_TRUE(upper.has_value() && lower.has_value()) << over << " " << under;
  return json_text(merge_layers(upper->root, lower->root));
}

TEST(ConfigLayers, WhatIsSaidStandsAndTheRestIsFilledIn) {
  EXPECT_EQ(merged("{a: 1, m: {x: 1}}", "{a: 2, b: 3, m: {x: 2, y: 2}}"),
            R"({"a": 1, "m": {"x": 1, "y": 2}, "b": 3})");
  EXPECT_EQ(merged("{}", "{a: 1}"), R"({"a": 1})");
  EXPECT_EQ(merged("{a: 1}", "{}"), R"({"a": 1})");
}

TEST(ConfigLayers, ANullStandsForNothingSaid) {
  EXPECT_EQ(merged("{a: null, m: {x: null}}", "{a: 2, m: {x: 3}}"), R"({"a": 2, "m": {"x": 3}})");
  EXPECT_EQ(merged("null", "{a: 2}"), R"({"a": 2})");
  EXPECT_EQ(merged("{a: null}", "{}"), R"({"a": null})");
  EXPECT_EQ(merged("{a: 1}", "{a: null}"), R"({"a": 1})");
  EXPECT_EQ(merged("{a: false, b: 0, c: ''}", "{a: true, b: 1, c: x}"),
            R"({"a": false, "b": 0, "c": ""})")
      << "nor do other values that are little";
}

TEST(ConfigLayers, AListReplacesAListAndOneKindOfValueAnother) {
  EXPECT_EQ(merged("{labels: [a]}", "{labels: [b, c]}"), R"({"labels": ["a"]})");
  EXPECT_EQ(merged("{a: 1}", "{a: {x: 1}}"), R"({"a": 1})");
  EXPECT_EQ(merged("{a: {x: 1}}", "{a: [1]}"), R"({"a": {"x": 1}})");
}

TEST(ConfigLayers, SomeListsAreJoinedTheLowerFirst) {
  EXPECT_EQ(merged("{bind_mounts: [1]}", "{bind_mounts: [2, 3]}"), R"({"bind_mounts": [2, 3, 1]})");
  for (const char* name : {"proxy_ports", "ports", "environment_variables"}) {
    const std::string list(name);
    EXPECT_EQ(merged("{environment: {" + list + ": [a]}}", "{environment: {" + list + ": [b]}}"),
              R"({"environment": {")" + list + R"(": ["b", "a"]}})");
  }
  EXPECT_EQ(merged("{resources: {devices: [1]}}", "{resources: {devices: [2]}}"),
            R"({"resources": {"devices": [2, 1]}})");
  EXPECT_EQ(
      merged("{environment: {add_capabilities: [1]}}", "{environment: {add_capabilities: [2]}}"),
      R"({"environment": {"add_capabilities": [1]}})");
}

TEST(ConfigLayers, VariablesForAllSlotsGoIntoEachKind) {
  EXPECT_EQ(
      merged("{environment: {environment_variables: {cpu: [A=1]}}}",
             "{environment: {environment_variables: [B=2]}}"),
      R"({"environment": {"environment_variables": {"cpu": ["B=2", "A=1"], "cuda": ["B=2"]}}})");
  EXPECT_EQ(
      merged("{environment: {environment_variables: [A=1]}}",
             "{environment: {environment_variables: {rocm: [B=2]}}}"),
      R"({"environment": {"environment_variables": {"cpu": ["A=1"], "cuda": ["A=1"], "rocm": ["B=2"]}}})");
  EXPECT_EQ(merged("{environment: {environment_variables: {cpu: [A=1]}}}",
                   "{environment: {environment_variables: []}}"),
            R"({"environment": {"environment_variables": {"cpu": ["A=1"]}}})");
}

TEST(ConfigLayers, PoliciesOfOneNameReplaceEachOther) {
  EXPECT_EQ(merged("{log_policies: [{name: a, pattern: 1}, {pattern: 2}]}",
                   "{log_policies: [{name: b, pattern: 3}, {name: a, pattern: 4}, {pattern: 5}]}"),
            R"({"log_policies": [{"name": "a", "pattern": 1}, {"pattern": 2}, )"
            R"({"name": "b", "pattern": 3}, {"pattern": 5}]})");
}

TEST(ConfigLayers, AnotherThingIsNotCompletedByALowerOne) {
  EXPECT_EQ(merged("{searcher: {name: single, max_length: 1}}",
                   "{searcher: {name: grid, max_length: 2, metric: loss}}"),
            R"({"searcher": {"name": "single", "max_length": 1}})");
  EXPECT_EQ(merged("{searcher: {max_length: 1}}", "{searcher: {name: grid}}"),
            R"({"searcher": {"max_length": 1, "name": "grid"}})");
  EXPECT_EQ(merged("{checkpoint_storage: {type: s3}}",
                   "{checkpoint_storage: {type: shared_fs, host_path: /x}}"),
            R"({"checkpoint_storage": {"type": "s3"}})");
  EXPECT_EQ(merged("{checkpoint_storage: {save_trial_best: 2}}",
                   "{checkpoint_storage: {type: shared_fs}}"),
            R"({"checkpoint_storage": {"save_trial_best": 2, "type": "shared_fs"}})");
}

TEST(ConfigLayers, RangesOfHyperparametersAreOneKindOrAnother) {
  EXPECT_EQ(merged("{hyperparameters: {a: {type: int, minval: 1}}}",
                   "{hyperparameters: {a: {type: double, minval: 0, maxval: 1}, b: 2}}"),
            R"({"hyperparameters": {"a": {"type": "int", "minval": 1}, "b": 2}})");
  EXPECT_EQ(merged("{hyperparameters: {a: {type: int, minval: 1}}}",
                   "{hyperparameters: {a: {type: int, minval: 0, maxval: 9}}}"),
            R"({"hyperparameters": {"a": {"type": "int", "minval": 1, "maxval": 9}}})");
  EXPECT_EQ(merged("{hyperparameters: {a: {x: 1}}}",
                   "{hyperparameters: {a: {type: int, minval: 0, maxval: 9}}}"),
            R"({"hyperparameters": {"a": {"x": 1}}})")
      << "a map of its own is no range";
}

TEST(ConfigLayers, TheDefaultsCompleteThemselvesAndChangeNothing) {
  const Json& defaults = experiment_defaults();
  EXPECT_EQ(merge_layers(Json(Json::Object{}), defaults), defaults);
  EXPECT_EQ(*defaults.find("max_restarts"), Json(5));
  EXPECT_EQ(*defaults.find("resources")->find("slots_per_trial"), Json(1));
  EXPECT_EQ(defaults.find("log_policies")->array()->size(), 3U);
}

Json random_layer(Rng& rng, int depth) {
  Json::Object members;
  for (const char* name : {"a", "b", "c"}) {
    const std::uint64_t kind = rng.below(5);
    if (kind == 0) continue;
    members.push_back({name, kind == 1   ? Json()
                             : kind == 2 ? Json(Json::Array{static_cast<int>(rng.below(9))})
                             : kind == 3 || depth == 0 ? Json(static_cast<int>(rng.below(9)))
                                                       : random_layer(rng, depth - 1)});
  }
  return members;
}

TEST(ConfigLayers, EveryFieldOfALayerIsThereUnlessAnUpperOneSaysOtherwise) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    const Json over = random_layer(rng, 3);
    const Json under = random_layer(rng, 3);
    const Json both = merge_layers(over, under);
    for (const Json::Member& member : *over.object()) {
      const Json* found = both.find(member.name);
      ASSERT_NE(found, nullptr) << "seed " << seed;
      EXPECT_TRUE(member.value.is_null() || member.value.object() != nullptr ||
                  *found == member.value)
          << "seed " << seed;
    }
    for (const Json::Member& member : *under.object()) {
      const Json* upper = over.find(member.name);
      EXPECT_TRUE((upper != nullptr && !upper->is_null()) ||
                  *both.find(member.name) == member.value)
          << "seed " << seed;
    }
    EXPECT_EQ(merge_layers(both, under), both) << "seed " << seed << ": once more is no more";
  }
}

}  // namespace
}  // namespace muster

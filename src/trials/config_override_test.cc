#include "trials/config_override.h"

#include <gtest/gtest.h>

#include "text/json_text.h"
#include "text/yaml_text.h"

namespace muster {
namespace {

TEST(ConfigOverride, SetsAValueAtAPath) {
  Json config = parse_yaml("searcher: {max_trials: 3}\n")->root;
  ASSERT_TRUE(apply_override(config, "searcher.max_trials=20").has_value());
  ASSERT_TRUE(apply_override(config, "resources.slots=[1, two]").has_value());
  EXPECT_EQ(*config.find("searcher")->find("max_trials"), Json(20));
  EXPECT_EQ(*config.find("resources")->find("slots"), Json(Json::Array{1, "two"}));
}

TEST(ConfigOverride, SaysHowToWriteIt) {
  Json config;
  EXPECT_EQ(apply_override(config, "searcher").error().text(),
            "'searcher' sets nothing: write NAME.NAME=VALUE");
  EXPECT_EQ(apply_override(config, "a..b=3").error().text(),
            "'a..b=3' sets nothing: write NAME.NAME=VALUE");
  EXPECT_FALSE(apply_override(config, "a=[1").has_value());
  ASSERT_TRUE(apply_override(config, "entrypoint=python3 train.py").has_value());
  EXPECT_EQ(apply_override(config, "entrypoint.0=x").error().text(),
            "'entrypoint.0=x' sets nothing: 'entrypoint' is not a map");
}

std::string after(std::string_view config, std::string_view text) {
  Json value = parse_yaml(config)->root;
  const Status set = apply_override(value, text);
  return set.has_value() ? json_text(value) : set.error().text();
}

TEST(ConfigOverride, TheValueIsYaml) {
  EXPECT_EQ(after("{}", "a=1"), R"({"a": 1})");
  EXPECT_EQ(after("{}", "a='1'"), R"({"a": "1"})");
  EXPECT_EQ(after("{}", "a={x: [1, y]}"), R"({"a": {"x": [1, "y"]}})");
  EXPECT_EQ(after("{}", "a="), R"({"a": null})");
  EXPECT_EQ(after("{}", "a=b=c"), R"({"a": "b=c"})");
  EXPECT_EQ(after("{}", " a . b = 2 "), R"({"a": {"b": 2}})");
}

TEST(ConfigOverride, MapsAreMadeOnTheWayAndNothingElseChanges) {
  EXPECT_EQ(after("{a: 1, m: {x: 1}}", "m.y.z=2"), R"({"a": 1, "m": {"x": 1, "y": {"z": 2}}})");
  EXPECT_EQ(after("{a: null}", "a.b=2"), R"({"a": {"b": 2}})");
  EXPECT_EQ(after("{a: {b: 1}}", "a=2"), R"({"a": 2})") << "the last of the path may be anything";
  EXPECT_EQ(after("{a: [1]}", "a.0=2"), "'a.0=2' sets nothing: 'a' is not a map");
  EXPECT_EQ(after("{}", "=1"), "'=1' sets nothing: write NAME.NAME=VALUE");
}

}  // namespace
}  // namespace muster

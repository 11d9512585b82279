#include "text/yaml_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace muster {
namespace {

Json root(std::string_view text) {
  auto document = parse_yaml(text);
  EXPECT_TRUE(document.has_value()) << text << ": " << document.error().text();
  return document.has_value() ? document->root : Json();
}

std::string refusal(std::string_view text) {
  const auto document = parse_yaml(text);
  EXPECT_FALSE(document.has_value()) << text;
  return document.has_value() ? "" : document.error().message;
}

TEST(YamlScalar, AsTheCoreSchemaSays) {
  EXPECT_EQ(yaml_scalar("12"), Json(12));
  EXPECT_EQ(yaml_scalar("-12"), Json(-12));
  EXPECT_EQ(yaml_scalar("+12"), Json(12));
  EXPECT_EQ(yaml_scalar("0x1f"), Json(31));
  EXPECT_EQ(yaml_scalar("0o17"), Json(15));
  EXPECT_EQ(yaml_scalar("007"), Json(7));
  EXPECT_EQ(yaml_scalar("1.0"), Json(1.0));
  EXPECT_EQ(yaml_scalar("3.0e-4"), Json(3.0e-4));
  EXPECT_EQ(yaml_scalar("1e-3"), Json(1e-3));
  EXPECT_EQ(yaml_scalar(".5"), Json(0.5));
  EXPECT_EQ(yaml_scalar("-.inf"), Json(-std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(std::isnan(*yaml_scalar(".nan").number()));
  EXPECT_EQ(yaml_scalar("true"), Json(true));
  EXPECT_EQ(yaml_scalar("False"), Json(false));
  EXPECT_EQ(yaml_scalar("~"), Json());
  for (const char* text : {"yes", "off", "1.2.3", "12a", "inf", "nan", "e5", ".", "-", "+", "..5",
                           "0x", "0x-5", "0o-7", "16g", "1e999", "+-3"}) {
    EXPECT_EQ(yaml_scalar(text), Json(text)) << text;
  }
}

TEST(Yaml, QuotesMakeTexts) {
  EXPECT_EQ(root("a: '12'\nb: \"true\"\nc: !!str 12\n"),
            Json(Json::Object{{"a", Json("12")}, {"b", Json("true")}, {"c", Json("12")}}));
}

TEST(Yaml, NestsAndKeepsTheOrder) {
  const Json value = root("z: {y: [1, two, 3.5]}\na:\n  - b: null\n");
  EXPECT_EQ(value.object()->front().name, "z");
  EXPECT_EQ((*value.find("z")->find("y")->array())[1], Json("two"));
  EXPECT_TRUE((*value.find("a")->array())[0].find("b")->is_null());
}

TEST(Yaml, KnowsTheLines) {
  const auto document = parse_yaml("# one\na:\n  b: 1\n  c:\n    - 5\n    - 6\n");
  ASSERT_TRUE(document.has_value());
  EXPECT_EQ(document->lines.at("a"), 2);
  EXPECT_EQ(document->lines.at("a.b"), 3);
  EXPECT_EQ(document->lines.at("a.c.1"), 6);
}

TEST(Yaml, AnchorsAndMergedMaps) {
  const Json value = root("base: &b {x: 1, y: 2}\nfirst: {<<: *b, y: 3}\nsecond: *b\n");
  EXPECT_EQ(*value.find("first")->find("x"), Json(1));
  EXPECT_EQ(*value.find("first")->find("y"), Json(3));
  EXPECT_EQ(*value.find("second"), *value.find("base"));
}

TEST(Yaml, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(refusal("a: 1\nb: 2\na: 3\n"), "line 3: 'a' stands twice; keep one");
  EXPECT_EQ(refusal("a: 1\n---\nb: 2\n"), "line 2: a second document begins; one is expected");
  EXPECT_NE(refusal(","), "") << "the library would find documents in it for ever";
  EXPECT_TRUE(refusal("a: [1, 2\nb: 3\n").starts_with("line ")) << refusal("a: [1, 2\nb: 3\n");
  EXPECT_TRUE(refusal("a: *nobody\n").starts_with("line 1: not YAML")) << refusal("a: *nobody\n");
  EXPECT_EQ(refusal("<<: 3\n"), "line 1: '<<' takes a map or a list of maps");
}

TEST(Yaml, EmptyIsNull) {
  EXPECT_TRUE(root("").is_null());
  EXPECT_TRUE(root("# nothing\n").is_null());
}

TEST(Yaml, AliasesThatExplodeAreRefused) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) text += (k > 0 ? ", " : "") + before;
    text += "]\n";
  }
  EXPECT_NE(refusal(text).find("25,000"), std::string::npos);
}

TEST(Yaml, WhatIsMergedIsBounded) {
  EXPECT_NE(refusal("<<: &a [*a]\n"), "");
  std::string bomb = "<<: [&a0 []";
  for (int i = 1; i < 30; ++i) {
    bomb += ", &a" + std::to_string(i) + " [";
    for (int k = 0; k < 9; ++k) bomb += (k > 0 ? ", *a" : "*a") + std::to_string(i - 1);
    bomb += "]";
  }
  EXPECT_NE(refusal(bomb + "]\n"), "");
}

TEST(Yaml, UnfoldedBytesAreBounded) {
  std::string texts = "a: &a " + std::string(1 << 20, 'x') + "\nb:\n";
  for (int i = 0; i < 200; ++i) texts += "- *a\n";
  EXPECT_NE(refusal(texts).find("16 MiB"), std::string::npos);
  std::string paths;
  for (int i = 0; i < 100; ++i) paths += "{" + std::string(1000, 'k') + ": ";
  paths += "[";
  for (int i = 0; i < 2000; ++i) paths += "1, ";
  EXPECT_NE(refusal(paths + "1]" + std::string(100, '}')).find("16 MiB"), std::string::npos);
}

TEST(Yaml, WhatIsMergedStandsWhereItIsMerged) {
  const auto document = parse_yaml("base: &b\n  x: 1\n  y: 2\nuse:\n  x: 3\n  <<: *b\n");
  ASSERT_TRUE(document.has_value()) << document.error().text();
  EXPECT_EQ(document->lines.at("use.x"), 5);
  EXPECT_EQ(document->lines.at("use.y"), 6);
}

TEST(Yaml, DepthIsBounded) { EXPECT_FALSE(parse_yaml(std::string(5000, '[')).has_value()); }

TEST(Yaml, StoredConfigurationsAreJsonOrTheYamlOfBefore) {
  EXPECT_EQ(stored_json(R"({"a": 1})"), Json(Json::Object{{"a", 1}}));
  EXPECT_EQ(stored_json("a: yes\n"), Json(Json::Object{{"a", "yes"}}));
  EXPECT_TRUE(stored_json("a: [").is_null());
  EXPECT_TRUE(stored_json("").is_null());
}

TEST(YamlScalar, WholeNumbersThatDoNotFitBecomeNumbers) {
  EXPECT_EQ(yaml_scalar("9223372036854775807"), Json(INT64_MAX));
  EXPECT_EQ(yaml_scalar("9223372036854775808"), Json(9223372036854775808.0));
  EXPECT_EQ(yaml_scalar("-9223372036854775808"), Json(INT64_MIN));
  EXPECT_EQ(yaml_scalar("0xffffffffffffffffff"), Json("0xffffffffffffffffff"));
}

TEST(Yaml, NamesThatAreNoTextsKeepTheirWords) {
  const Json value = root("1: a\ntrue: b\n1.50: c\n");
  std::string names;
  for (const Json::Member& member : *value.object()) names += member.name + " ";
  EXPECT_EQ(names, "1 true 1.50 ");
  EXPECT_EQ(refusal("[a]: 1\n"), "line 1: a name must be a plain text");
  EXPECT_EQ(refusal("{a: 1}: 1\n"), "line 1: a name must be a plain text");
}

TEST(Yaml, EarlierMapsOfAMergeWinAndOwnNamesWinOverAll) {
  const Json value = root("a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {z: 3, <<: [*a, *b]}\n");
  const Json* merged = value.find("c");
  EXPECT_EQ(*merged->find("x"), Json(1));
  EXPECT_EQ(*merged->find("y"), Json(1));
  EXPECT_EQ(*merged->find("z"), Json(3));
  EXPECT_EQ(merged->object()->size(), 3U);
}

}  // namespace
}  // namespace muster

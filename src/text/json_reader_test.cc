#include "text/json_reader.h"

#include <gtest/gtest.h>

#include "text/json_text.h"

namespace muster {
namespace {

std::string read(std::string_view text) {
  const auto json = parse_json(text);
  return json.has_value() ? json_text(*json) : json.error().text();
}

TEST(JsonReader, KeepsWhatTheTextSays) {
  EXPECT_EQ(
      read(
          R"({"a": [1, -2.5, true, null, "x\u00e9"], "b": {"c": 9223372036854775807}, "d": 18446744073709551615})"),
      "{\"a\": [1, -2.5, true, null, \"x\xc3\xa9\"], \"b\": {\"c\": 9223372036854775807}, "
      "\"d\": 1.8446744073709552e+19}");
}

TEST(JsonReader, AnyValueIsADocument) {
  const std::pair<const char*, const char*> cases[] = {
      {"null", "null"}, {" true\n", "true"}, {"\"\"", "\"\""},    {"[]", "[]"},
      {"{}", "{}"},     {"-0", "0"},         {"-0.0", "-0.0"},    {"1.0", "1.0"},
      {"1e2", "100.0"}, {"0.1", "0.1"},      {"5e-324", "5e-324"}};
  for (const auto& [text, written] : cases) EXPECT_EQ(read(text), written) << text;
}

TEST(JsonReader, WholeNumbersAreWholeAsFarAsTheyFit) {
  EXPECT_EQ(*parse_json("9223372036854775807")->whole(), INT64_MAX);
  EXPECT_EQ(*parse_json("-9223372036854775808")->whole(), INT64_MIN);
  EXPECT_EQ(parse_json("9223372036854775808")->whole(), nullptr);
  EXPECT_EQ(parse_json("9223372036854775808")->number(), 9223372036854775808.0);
  EXPECT_EQ(parse_json("-9223372036854775809")->number(), -9223372036854775808.0);
  EXPECT_EQ(parse_json("1.0")->whole(), nullptr) << "a number, be its value whole";
}

TEST(JsonReader, EscapesBecomeTheirCharacters) {
  EXPECT_EQ(*parse_json(R"("\"\\\/\b\f\n\r\t")")->text(), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(*parse_json(R"("\u20ac\ud83d\ude00")")->text(), "\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(*parse_json(R"("a\u0000b")")->text(), std::string("a\0b", 3));
  EXPECT_FALSE(parse_json(R"("\ud83d")").has_value()) << "half of a pair";
  EXPECT_FALSE(parse_json("\"\n\"").has_value()) << "a line feed as it is";
}

TEST(JsonReader, LastOfEqualNamesCounts) {
  EXPECT_EQ(read(R"({"a": 1, "b": 0, "a": 2})"), R"({"a": 2, "b": 0})");
  EXPECT_EQ(read(R"({"a": 1, "a": {"a": 3}})"), R"({"a": {"a": 3}})");
}

TEST(JsonReader, ObjectsOfManyMembersAreReadInLinearTime) {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += (i == 0 ? "{\"" : ", \"") + std::to_string(i) + "\": 1";
  text += ", \"299999\": 2, \"3\": 4}";
  const auto json = parse_json(text);  // quadratic, it takes minutes
  ASSERT_TRUE(json.has_value());
  ASSERT_EQ(json->object()->size(), 300'000U);
  EXPECT_EQ(*json->object()->back().value.whole(), 2) << "the later value";
  EXPECT_EQ(*(*json->object())[3].value.whole(), 4);
}

TEST(JsonReader, RefusesWhatIsNoJson) {
  for (const char* text : {"", "{", "[1,]", "{\"a\": nan}", "\"\xff\"", "1 2", "{'a': 1}", "01",
                           "+1", ".5", "1.", "tru", "{\"a\" 1}", "// c\n1", "1e400", "{1: 2}"}) {
    const auto json = parse_json(text);
    ASSERT_FALSE(json.has_value()) << text;
    EXPECT_EQ(json.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(json.error().message, "this is no JSON");
    EXPECT_NE(json.error().detail, "") << text;
  }
  EXPECT_TRUE(parse_json("[1, }").error().detail.starts_with("byte 5: ")) << read("[1, }");
}

TEST(JsonReader, HoldsTwoHundredLevelsAndNoMore) {
  const auto nested = [](std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_EQ(read(nested(200)), nested(200));
  EXPECT_EQ(parse_json(nested(201)).error().detail, "more than 200 levels");
  EXPECT_EQ(parse_json(std::string(100'000, '[')).error().detail, "more than 200 levels");
  EXPECT_TRUE(parse_json("[" + nested(199) + ", " + nested(199) + "]").has_value())
      << "what is closed does not count";
}

}  // namespace
}  // namespace muster

#include "api/http/fields.h"

#include <gtest/gtest.h>

#include "text/json_reader.h"

namespace muster::api {
namespace {

Json json(std::string_view text) { return parse_json(text).value(); }

HttpRequest request_of(std::vector<std::pair<std::string, std::string>> query) {
  HttpRequest request;
  request.query = std::move(query);
  return request;
}

TEST(Fields, ABodyIsAnObjectOrNothing) {
  HttpRequest request;
  for (const char* nothing : {"", "null", "{}"}) {
    request.bytes = nothing;
    EXPECT_EQ(body_of(request).value(), Json(Json::Object{})) << nothing;
  }
  for (const char* other : {"[]", "5", "\"{}\"", "{", "{} {}"}) {
    request.bytes = other;
    EXPECT_EQ(body_of(request).error().code, ErrorCode::kInvalidArgument) << other;
  }
}

TEST(Fields, ANameIsFoundInEitherSpellingAndNullIsNone) {
  const Json body = json(R"({"saveTrialBest": 1, "save_trial_latest": 2, "none": null})");
  EXPECT_EQ(*field(body, "saveTrialBest"), Json(1));
  EXPECT_EQ(*field(body, "saveTrialLatest"), Json(2));
  EXPECT_EQ(field(body, "none"), nullptr);
  EXPECT_EQ(field(body, "savetriallatest"), nullptr);
  EXPECT_EQ(field(Json(5), "any"), nullptr);
}

TEST(Fields, WholeNumbersComeAsNumbersAndAsTexts) {
  EXPECT_EQ(whole_of(json("7")), 7);
  EXPECT_EQ(whole_of(json("7.0")), 7);
  EXPECT_EQ(whole_of(json("\"-7\"")), -7);
  EXPECT_EQ(whole_of(json("\"9223372036854775807\"")), INT64_MAX);
  EXPECT_EQ(whole_of(json("-9223372036854775808")), INT64_MIN);
  EXPECT_EQ(whole_of(json("-9.223372036854775808e18")), INT64_MIN);
  for (const char* none : {"7.5", "1e300", "9.223372036854775808e18", "\"9223372036854775808\"",
                           "\"7.0\"", "\" 7\"", "\"\"", "\"0x7\"", "true", "null", "[7]", "{}"})
    EXPECT_FALSE(whole_of(json(none)).has_value()) << none;
}

TEST(Fields, AnIdIsANumberFromOneAndZeroIsNone) {
  const Json body = json(
      R"({"one": 1, "text": "2", "zero": 0, "most": 4294967295, "beyond": 4294967296, "minus": -1, "half": 0.5})");
  EXPECT_EQ(id_field(body, "one").value(), 1U);
  EXPECT_EQ(id_field(body, "text").value(), 2U);
  EXPECT_EQ(id_field(body, "most").value(), UINT32_MAX);
  EXPECT_FALSE(id_field(body, "zero").value().has_value());
  EXPECT_FALSE(id_field(body, "missing").value().has_value());
  for (const char* wrong : {"beyond", "minus", "half"})
    EXPECT_EQ(id_field(body, wrong).error().code, ErrorCode::kInvalidArgument) << wrong;
}

TEST(Fields, AListHasABound) {
  EXPECT_TRUE(check_list_size(kListMax, "updates").has_value());
  const Status refused = check_list_size(kListMax + 1, "updates");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "updates has 10001 entries, and 10000 are the most of one request");
}

TEST(Fields, AListOfIdsHasIdsAlone) {
  const Json body = json(R"({"ids": [3, "4"], "none": null, "empty": [], "zero": [0], "one": 5})");
  EXPECT_EQ(ids_field(body, "ids").value(), (std::vector<std::uint32_t>{3, 4}));
  EXPECT_TRUE(ids_field(body, "none").value().empty());
  EXPECT_TRUE(ids_field(body, "empty").value().empty());
  EXPECT_TRUE(ids_field(body, "missing").value().empty());
  EXPECT_FALSE(ids_field(body, "zero").has_value());
  EXPECT_EQ(ids_field(body, "one").error().message, "one is not a list of ids");
}

TEST(Fields, WhatIsOfAnotherTypeIsNamed) {
  const Json body = json(R"({"text": "a", "flag": true, "list": ["a"], "mixed": ["a", 1]})");
  EXPECT_TRUE(check_texts(body, {"text", "missing"}).has_value());
  EXPECT_EQ(check_texts(body, {"text", "flag"}).error().message, "flag is not a text");
  EXPECT_TRUE(check_flags(body, {"flag", "missing"}).has_value());
  EXPECT_EQ(check_flags(body, {"text"}).error().message, "text is neither true nor false");
  EXPECT_TRUE(check_text_lists(body, {"list", "missing"}).has_value());
  EXPECT_EQ(check_text_lists(body, {"mixed"}).error().message, "mixed is not a list of texts");
  EXPECT_EQ(check_text_lists(body, {"text"}).error().message, "text is not a list of texts");
}

TEST(Fields, WhatAsksForNothingIsNotRefused) {
  const Json body = json(
      R"({"no": false, "yes": true, "empty": "", "text": "a", "list": [], "items": [1], "object": {}, "zero": 0})");
  for (const char* idle : {"no", "empty", "list", "object", "missing"})
    EXPECT_FALSE(is_given(body, idle)) << idle;
  for (const char* given : {"yes", "text", "items", "zero"})
    EXPECT_TRUE(is_given(body, given)) << given;
  EXPECT_TRUE(refuse_fields(body, {"no", "empty"}, "").has_value());
  const Status refused = refuse_fields(body, {"no", "items"}, "leave it out");
  EXPECT_EQ(refused.error().code, ErrorCode::kUnimplemented);
  EXPECT_EQ(refused.error().text(), "items is not there yet: leave it out");
}

TEST(Fields, ParametersAreReadAsGoReadsThem) {
  const HttpRequest request = request_of({{"n", "-5"},
                                          {"big", "9223372036854775808"},
                                          {"plus", "+5"},
                                          {"t", "T"},
                                          {"one", "1"},
                                          {"f", "False"},
                                          {"yes", "yes"},
                                          {"empty", ""},
                                          {"id", "7"},
                                          {"twice", "1"},
                                          {"twice", "2"}});
  EXPECT_EQ(number_parameter(request, "n", 1).value(), -5);
  EXPECT_EQ(number_parameter(request, "missing", 1).value(), 1);
  EXPECT_EQ(number_parameter(request, "empty", 1).value(), 1);
  EXPECT_EQ(number_parameter(request, "twice", 1).value(), 2);
  EXPECT_FALSE(number_parameter(request, "big", 1).has_value());
  EXPECT_FALSE(number_parameter(request, "plus", 1).has_value());
  EXPECT_EQ(flag_parameter(request, "t").value(), true);
  EXPECT_EQ(flag_parameter(request, "one").value(), true);
  EXPECT_EQ(flag_parameter(request, "f").value(), false);
  EXPECT_FALSE(flag_parameter(request, "empty").value().has_value());
  EXPECT_FALSE(flag_parameter(request, "yes").has_value());
  EXPECT_EQ(id_parameter(request, "id").value(), 7U);
  EXPECT_EQ(id_parameter(request, "missing").value(), 0U);
  EXPECT_FALSE(id_parameter(request, "n").has_value());
}

TEST(Fields, AnIdInAPathIsANumberFromOne) {
  EXPECT_EQ(parse_id("4294967295", "a trial").value(), UINT32_MAX);
  for (const char* wrong : {"", "0", "-1", "4294967296", "1.0", "1 ", "one"})
    EXPECT_EQ(parse_id(wrong, "a trial").error().message,
              "'" + std::string(wrong) + "' is no id of a trial");
}

TEST(Fields, AreReadInEitherSpelling) {
  HttpRequest request;
  request.bytes =
      R"({"stepsCompleted": "12", "trial_run_id": 3, "note": null, "labels": ["a", 1, "b"], "ids": [1, 0]})";
  const Json body = body_of(request).value();
  EXPECT_EQ(whole_field(body, "stepsCompleted"), 12);
  EXPECT_EQ(whole_field(body, "trialRunId"), 3);
  EXPECT_EQ(field(body, "note"), nullptr);
  EXPECT_EQ(texts_field(body, "labels"), (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(ids_field(body, "ids").has_value());
  for (const char* text :
       {"1e300", "-1e300", "9223372036854775808", "\"x\"", "\"9223372036854775808\"", "[]"}) {
    EXPECT_EQ(whole_of(parse_json(text).value()), std::nullopt)
        << text << " is beyond 64 bits, or no number";
  }
  for (const char* text : {"[]", "1", "{"}) {
    request.bytes = text;
    EXPECT_FALSE(body_of(request).has_value()) << text;
  }
  for (const char* text : {"", "0", "-1", "x", "1x", "4294967296"})
    EXPECT_FALSE(parse_id(text, "a trial").has_value()) << text;
}

TEST(Fields, AnIdIsNotCutToItsLastBits) {
  const auto read = [](const char* text) {
    return id_field(parse_json(text).value(), "projectId");
  };
  EXPECT_EQ(read(R"({"projectId": 7})").value(), 7U);
  EXPECT_EQ(read(R"({"project_id": "4294967295"})").value(), 4294967295U);
  for (const char* text : {"{}", R"({"projectId": null})", R"({"projectId": 0})"})
    EXPECT_EQ(read(text).value(), std::nullopt) << text;
  for (const char* text :
       {R"({"projectId": 4294967297})", R"({"projectId": -1})", R"({"projectId": "x"})"})
    EXPECT_FALSE(read(text).has_value()) << text;
  EXPECT_EQ(id_parameter(parse_target("/?projectId=3").value(), "projectId").value(), 3U);
  EXPECT_EQ(id_parameter(parse_target("/").value(), "projectId").value(), 0U);
  EXPECT_FALSE(
      id_parameter(parse_target("/?projectId=4294967299").value(), "projectId").has_value());
}

}  // namespace
}  // namespace muster::api

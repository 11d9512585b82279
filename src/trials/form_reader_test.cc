#include "trials/form_reader.h"

#include <gtest/gtest.h>

#include <array>

namespace muster {
namespace {

/// A document, and what was found wrong with it.
struct Form {
  YamlDocument document;
  FormContext context;
  FormReader reader;

  explicit Form(std::string_view text)
      : document(parse_yaml(text).value()),
        context{document.lines, {}},
        reader(context, &document.root, "") {}
  std::string problems() const {
    std::string text;
    for (const FormProblem& problem : context.problems) text += problem.text() + "\n";
    return text;
  }
};

TEST(FormReader, ValuesOfTheirKindsAreTaken) {
  Form form("text: a\nflag: true\nnumber: 2\nwhole: 3.0\n");
  std::string text;
  bool flag = false;
  double number = 0;
  std::uint32_t whole = 0;
  form.reader.text("text", text);
  form.reader.flag("flag", flag);
  form.reader.number("number", number, 0, 9);
  form.reader.whole("whole", whole, 0);
  form.reader.finish();
  EXPECT_EQ(form.problems(), "");
  EXPECT_EQ(text, "a");
  EXPECT_TRUE(flag);
  EXPECT_EQ(number, 2);
  EXPECT_EQ(whole, 3U) << "a number that is whole";
}

TEST(FormReader, WhatIsLeftOutOrNullLeavesTheValueAlone) {
  Form form("text: null\n");
  std::string text = "before";
  std::uint32_t whole = 7;
  form.reader.text("text", text);
  form.reader.whole("whole", whole, 0);
  EXPECT_EQ(form.problems(), "");
  EXPECT_EQ(text, "before");
  EXPECT_EQ(whole, 7U);
  EXPECT_FALSE(form.reader.has("text"));
  EXPECT_EQ(form.reader.field("text"), nullptr);
}

TEST(FormReader, WhatIsWrongIsSaidWithItsLineAndTheValueStays) {
  Form form("a: 1\nb: yes\nc: [1]\nd: {}\n");
  std::string text = "before";
  bool flag = true;
  double number = 5;
  std::uint32_t whole = 7;
  form.reader.text("a", text);
  form.reader.flag("b", flag);
  form.reader.number("c", number, 0, 1);
  form.reader.whole("d", whole, 1);
  EXPECT_EQ(form.problems(),
            "line 1: a: 1 is not a text; put it in quotes\n"
            "line 2: b: \"yes\" is neither true nor false\n"
            "line 3: c: a list is not possible; give a number from 0 to 1\n"
            "line 4: d: a map is not possible; give a whole number from 1 to 4294967295\n");
  EXPECT_EQ(text, "before");
  EXPECT_TRUE(flag);
  EXPECT_EQ(number, 5);
  EXPECT_EQ(whole, 7U);
}

TEST(FormReader, BoundsAreIncluded) {
  const auto whole = [](const std::string& value) {
    Form form("n: " + value + "\n");
    std::uint8_t out = 0;
    form.reader.whole("n", out, 2, 200);
    return form.problems().empty() ? std::to_string(out) : form.problems();
  };
  EXPECT_EQ(whole("2"), "2");
  EXPECT_EQ(whole("200"), "200");
  EXPECT_EQ(whole("1e2"), "100");
  for (const char* value : {"1", "201", "258", "2.5", "4294967298"}) {
    EXPECT_EQ(whole(value), std::string("line 1: n: ") + value +
                                " is not possible; give a whole number from 2 to 200\n");
  }
  for (const char* value : {"1e300", ".inf", ".nan", "-1", "'3'", "true"})
    EXPECT_NE(whole(value).find("is not possible"), std::string::npos) << value;
}

TEST(FormReader, WithoutABoundItIsAsHighAsTheTypeGoes) {
  const auto accepted = [](const std::string& value) {
    Form form("n: " + value + "\n");
    std::uint32_t small = 0;
    std::uint64_t large = 0;
    form.reader.whole("n", small, 0);
    form.reader.whole("n", large, 0);
    return std::to_string(small) + " " + std::to_string(large);
  };
  EXPECT_EQ(accepted("4294967295"), "4294967295 4294967295");
  EXPECT_EQ(accepted("4294967296"), "0 4294967296");
  EXPECT_EQ(accepted("9223372036854775807"), "0 9223372036854775807");
  EXPECT_EQ(accepted("9223372036854775808"), "0 0");
}

TEST(FormReader, NumbersThatAreNoneAreRefused) {
  for (const char* value : {".nan", ".inf", "-.inf", "2", "-0.1", "'0.5'"}) {
    Form form(std::string("n: ") + value + "\n");
    double out = 0.25;
    form.reader.number("n", out, 0, 1);
    EXPECT_EQ(form.context.problems.size(), 1U) << value;
    EXPECT_EQ(out, 0.25);
  }
}

TEST(FormReader, AWordIsOneOfThoseThatThereAre) {
  constexpr std::array<std::string_view, 2> kWords{"best", "all"};
  Form form("a: all\nb: All\nc: 1\n");
  EXPECT_EQ(form.reader.choice("a", kWords), 1U);
  EXPECT_EQ(form.reader.choice("b", kWords), std::nullopt);
  EXPECT_EQ(form.reader.choice("c", kWords), std::nullopt);
  EXPECT_EQ(form.reader.choice("d", kWords), std::nullopt);
  EXPECT_EQ(form.problems(),
            "line 2: b: \"All\" is not one of best, all\nline 3: c: 1 is not one of best, all\n");
}

TEST(FormReader, AMissingFieldIsNamedOnceAndIsNoMistakeLater) {
  Form form("b: 1\n");
  EXPECT_FALSE(form.reader.require("a", "a name"));
  EXPECT_TRUE(form.reader.require("b", "a number"));
  form.reader.field("b");
  form.reader.finish();
  EXPECT_EQ(form.problems(), "line 1: 'a' is missing; give a name\n");
}

TEST(FormReader, FieldsThatNobodyAskedForAreWrong) {
  Form form("max_lenght: 1\ncolour: red\n");
  form.reader.field("max_length");
  form.reader.finish();
  EXPECT_EQ(form.problems(),
            "line 1: max_lenght: there is no such field here; is it 'max_length'?\n"
            "line 2: colour: there is no such field here; take it out\n");
}

TEST(FormReader, SectionsNameTheirPaths) {
  Form form("outer:\n  inner:\n    n: x\nother: 3\n");
  FormReader inner = form.reader.section("outer").section("inner");
  std::uint32_t out = 0;
  inner.whole("n", out, 1, 5);
  FormReader other = form.reader.section("other");
  FormReader absent = form.reader.section("absent");
  absent.whole("n", out, 1, 5);
  EXPECT_TRUE(absent.members().empty());
  absent.finish();
  EXPECT_EQ(form.problems(),
            "line 3: outer.inner.n: \"x\" is not possible; give a whole number from 1 to 5\n"
            "line 4: other: 3 is not a map of names and values\n");
  EXPECT_EQ(inner.path_of("n"), "outer.inner.n");
  EXPECT_EQ(inner.path_of(""), "outer.inner");
}

TEST(FormReader, WhatStandsInNoFileHasNoLine) {
  const LineMap none;
  FormContext context{none, {}};
  const Json value(Json::Object{{"a", 1}});
  FormReader reader(context, &value, "searcher");
  reader.finish();
  ASSERT_EQ(context.problems.size(), 1U);
  EXPECT_EQ(context.problems[0].text(), "searcher.a: there is no such field here; take it out");
}

TEST(ShownValue, NamesEveryKindOfValue) {
  EXPECT_EQ(shown_value(Json()), "null");
  EXPECT_EQ(shown_value(false), "false");
  EXPECT_EQ(shown_value(-3), "-3");
  EXPECT_EQ(shown_value(0.5), "0.5");
  EXPECT_EQ(shown_value("a\x1b[1m\x7f\n"), "\"a\\x1b[1m\\x7f\\x0a\"") << "moves no cursor";
  EXPECT_EQ(shown_value(Json::Array{}), "a list");
  EXPECT_EQ(shown_value(Json::Object{}), "a map");
}

}  // namespace
}  // namespace muster

#include "trials/hyperparameter_form.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

struct ReadSpace {
  HyperSpace space;
  std::string problems;
};
ReadSpace read_space(const std::string& text, bool is_grid = false) {
  const YamlDocument document = parse_yaml(text).value();
  FormContext context{document.lines, {}};
  FormReader section(context, &document.root, "hyperparameters");
  ReadSpace result{read_hyperparameters(section), ""};
  if (is_grid) check_grid(result.space, section);
  for (const FormProblem& problem : context.problems)
    result.problems += problem.path + ": " + problem.message + "\n";
  return result;
}

TEST(HyperparameterForm, EveryTypeOfRange) {
  const ReadSpace found = read_space(
      "a: {type: const, val: [1, x]}\n"
      "b: {type: int, minval: -2, maxval: 5, count: 3}\n"
      "c: {type: double, minval: 0, maxval: 0.5}\n"
      "d: {type: log, minval: -4, maxval: -1, base: 2}\n"
      "e: {type: categorical, vals: [16, large]}\n");
  EXPECT_EQ(found.problems, "");
  EXPECT_EQ(found.space, (HyperSpace{{{"a"}, ConstDomain{Json(Json::Array{1, "x"})}},
                                     {{"b"}, IntDomain{-2, 5, 3}},
                                     {{"c"}, DoubleDomain{0, 0.5, {}}},
                                     {{"d"}, LogDomain{2, -4, -1, {}}},
                                     {{"e"}, CategoricalDomain{{16, "large"}}}}));
}

TEST(HyperparameterForm, WhatIsNoRangeIsConstant) {
  const ReadSpace found = read_space("list: [1]\nnothing: null\nempty: {}\nword: x\n");
  EXPECT_EQ(found.problems, "");
  EXPECT_EQ(found.space, (HyperSpace{{{"empty"}, ConstDomain{Json(Json::Object{})}},
                                     {{"list"}, ConstDomain{Json(Json::Array{1})}},
                                     {{"nothing"}, ConstDomain{Json()}},
                                     {{"word"}, ConstDomain{"x"}}}));
}

TEST(HyperparameterForm, MapsWithoutATypeAreSearchedThrough) {
  const ReadSpace found =
      read_space("z: 1\nnet: {width: {type: int, minval: 1, maxval: 2}, type: 5}\n");
  EXPECT_EQ(found.problems, "");
  EXPECT_EQ(found.space, (HyperSpace{{{"net", "type"}, ConstDomain{5}},
                                     {{"net", "width"}, IntDomain{1, 2, {}}},
                                     {{"z"}, ConstDomain{1}}}))
      << "a type that is no text is a hyperparameter of that name";
}

TEST(HyperparameterForm, WhatIsWrongIsNamedAndLeftOut) {
  const std::pair<const char*, const char*> cases[] = {
      {"{type: integer}",
       "hyperparameters.x.type: \"integer\" is not one of const, int, double, log, categorical\n"},
      {"{type: int, minval: 3, maxval: 2}",
       "hyperparameters.x.maxval: 2 is below minval 3; exchange them\n"},
      {"{type: int, maxval: 2}", "hyperparameters.x: 'minval' is missing; give the least value\n"},
      {"{type: double, minval: 0}",
       "hyperparameters.x: 'maxval' is missing; give the greatest value\n"},
      {"{type: categorical, vals: []}",
       "hyperparameters.x.vals: an empty list is not possible; give a list of one value or more\n"},
      {"{type: categorical, vals: 3}",
       "hyperparameters.x.vals: 3 is not possible; give a list of one value or more\n"},
      {"{type: const}", "hyperparameters.x: 'val' is missing; give the value\n"},
      {"{type: const, val: 1, vals: 2}",
       "hyperparameters.x.vals: there is no such field here; is it 'val'?\n"},
  };
  for (const auto& [text, problem] : cases) {
    const ReadSpace found = read_space(std::string("x: ") + text + "\n");
    EXPECT_EQ(found.problems, problem) << text;
  }
  EXPECT_TRUE(read_space("x: {type: int, minval: 3, maxval: 2}\n").space.empty());
}

TEST(HyperparameterForm, EndsAreWhatADoubleHoldsExactly) {
  EXPECT_EQ(
      read_space("x: {type: int, minval: -9007199254740992, maxval: 9007199254740992}\n").problems,
      "");
  for (const char* text :
       {"{type: int, minval: 0, maxval: 9007199254740993}",
        "{type: int, minval: -9007199254740993, maxval: 0}", "{type: int, minval: 0.5, maxval: 1}",
        "{type: double, minval: 0, maxval: 1e301}", "{type: double, minval: -1e301, maxval: 1}",
        "{type: double, minval: .nan, maxval: 1}", "{type: log, minval: 0, maxval: 400}",
        "{type: log, minval: 0, maxval: 1, base: 0}", "{type: log, minval: 0, maxval: 1, base: -2}",
        "{type: int, minval: 1, maxval: 2, count: 0}"}) {
    EXPECT_NE(read_space(std::string("x: ") + text + "\n").problems, "") << text;
  }
  EXPECT_EQ(read_space("x: {type: log, minval: -300, maxval: 300}\n").problems, "");
}

TEST(HyperparameterForm, PointsOfAGridAreCounted) {
  EXPECT_EQ(points_of(ConstDomain{1}), 1);
  EXPECT_EQ(points_of(IntDomain{1, 3, 10}), 3) << "no whole number twice";
  EXPECT_EQ(points_of(IntDomain{0, 100, 10}), 10);
  EXPECT_EQ(points_of(DoubleDomain{0, 1, 7}), 7);
  EXPECT_EQ(points_of(LogDomain{10, 0, 1, 4}), 4);
  EXPECT_EQ(points_of(CategoricalDomain{{1, 2, 3}}), 3);
}

TEST(HyperparameterForm, AGridNeedsCountsAndHasABound) {
  EXPECT_EQ(
      read_space("a: {type: int, minval: 0, maxval: 9}\nb: {c: {type: log, minval: 0, maxval: 1}}\n"
                 "d: {type: categorical, vals: [1]}\n",
                 true)
          .problems,
      "hyperparameters.a: a grid needs to know how many points: give 'count'\n"
      "hyperparameters.b.c: a grid needs to know how many points: give 'count'\n");
  const auto cube = [](int count) {
    std::string text;
    for (const char* name : {"a", "b"}) {
      text += std::string(name) +
              ": {type: double, minval: 0, maxval: 1, count: " + std::to_string(count) + "}\n";
    }
    return read_space(text, true).problems;
  };
  EXPECT_EQ(cube(316), "") << "99,856 points";
  EXPECT_NE(cube(317).find("the grid has 1.005e+05 points"), std::string::npos) << cube(317);
}

}  // namespace
}  // namespace muster

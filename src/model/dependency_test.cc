#include "model/dependency.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

DependencyTerm term(DependencyState state, std::int64_t not_before) {
  DependencyTerm result;
  result.state = state;
  result.not_before = TimePoint::from_seconds(not_before);
  return result;
}
constexpr auto kFulfilled = DependencyState::kFulfilled;

std::int64_t not_before(bool is_any, std::vector<DependencyTerm> terms) {
  return DependencySet{is_any, std::move(terms)}.not_before().seconds();
}

TEST(Dependency, AllMustHaveLetGoOrTheFirst) {
  const std::vector<DependencyTerm> terms = {term(kFulfilled, 30), term(kFulfilled, 10),
                                             term(kFulfilled, 20)};
  EXPECT_EQ(not_before(false, terms), 30);
  EXPECT_EQ(not_before(true, terms), 10);
}

TEST(Dependency, WhatIsNotFulfilledDoesNotCount) {
  for (const bool is_any : {false, true}) {
    EXPECT_EQ(not_before(is_any, {}), 0);
    EXPECT_EQ(not_before(is_any, {term(DependencyState::kUnfulfilled, 5),
                                  term(DependencyState::kFailed, 90)}),
              0);
    EXPECT_EQ(not_before(is_any, {term(DependencyState::kFailed, 90), term(kFulfilled, 40),
                                  term(DependencyState::kUnfulfilled, 5)}),
              40);
  }
}

TEST(Dependency, OneThatLetsGoAtOnceIsTheFirstOfAny) {
  EXPECT_EQ(not_before(true, {term(kFulfilled, 0), term(kFulfilled, 40)}), 0);
  EXPECT_EQ(not_before(false, {term(kFulfilled, 0), term(kFulfilled, 40)}), 40);
}

}  // namespace
}  // namespace muster

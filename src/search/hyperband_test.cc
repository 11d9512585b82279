#include "search/hyperband.h"

#include <gtest/gtest.h>

namespace muster::search {
namespace {

TEST(HyperbandBrackets, TheTableOfThePaper) {
  // Source: Li et al., JMLR 18, 2018, table 1: R = 81, eta = 3, all rungs of the first bracket.
  EXPECT_EQ(hyperband_brackets({3, 81})[0],
            (SyncBracketPlan{{81, 1}, {27, 3}, {9, 9}, {3, 27}, {1, 81}}));
}

TEST(HyperbandBrackets, OneUnitIsOneTrial) {
  EXPECT_EQ(hyperband_brackets({3, 1}), (std::vector<SyncBracketPlan>{{{1, 1}}}));
  EXPECT_EQ(hyperband_brackets({4, 3}), (std::vector<SyncBracketPlan>{{{1, 3}}}));
}

TEST(HyperbandBrackets, EachBracketHasOneRungLessAndCostsNoMoreThanItsShare) {
  for (const std::uint32_t divisor : {2U, 3U, 4U, 5U}) {
    for (const std::uint64_t max_time : {1U, 7U, 16U, 81U, 100U, 1000U, 65536U}) {
      SCOPED_TRACE(std::to_string(divisor) + ", " + std::to_string(max_time));
      const auto brackets = hyperband_brackets({divisor, max_time});
      const auto rungs = whole_log(static_cast<double>(max_time), static_cast<double>(divisor)) + 1;
      ASSERT_EQ(brackets.size(), rungs);
      for (std::size_t i = 0; i < brackets.size(); ++i) {
        const SyncBracketPlan& plan = brackets[i];
        ASSERT_EQ(plan.size(), rungs - i);
        EXPECT_EQ(plan.back().units, max_time) << "the last rung is all of the training";
        for (std::size_t rung = 0; rung < plan.size(); ++rung) {
          EXPECT_GE(plan[rung].trials, 1U);
          if (rung == 0) continue;
          EXPECT_LE(plan[rung].trials, plan[rung - 1].trials);
          EXPECT_GT(plan[rung].units, plan[rung - 1].units);
          // B = (s_max + 1) R: no rung takes more than its part, but for rounding up.
          EXPECT_LE(plan[rung].trials * plan[rung].units, (rungs + 1) * max_time);
        }
      }
      EXPECT_EQ(brackets.back()[0].trials, rungs) << "s = 0: as many as there are brackets";
    }
  }
}

}  // namespace
}  // namespace muster::search

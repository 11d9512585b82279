#include "model/view.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(TrialCounts, AddUpToAllTrials) {
  EXPECT_EQ(TrialCounts().total(), 0U);
  EXPECT_EQ((TrialCounts{1, 20, 300, 4000, 50'000, 600'000}).total(), 654'321U);
}

TEST(BriefTexts, AreThoseOfColumnsAndNotTheLongOnes) {
  const auto is_brief = [](JobText key) {
    return (kBriefTexts >> static_cast<unsigned>(key) & 1U) != 0;
  };
  for (const JobText key : {JobText::kName, JobText::kUserName, JobText::kGresPerNode})
    EXPECT_TRUE(is_brief(key)) << static_cast<int>(key);
  for (const JobText key : {JobText::kCommand, JobText::kSubmitLine, JobText::kWorkDir,
                            JobText::kComment, JobText::kRlimits, JobText::kCount})
    EXPECT_FALSE(is_brief(key)) << static_cast<int>(key);
}

}  // namespace
}  // namespace muster

#include "agent/step_links.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

const StepId kBatch{JobId(7), 0, kBatchStep};

TEST(StepLinks, TheEndOfAnOldConnectionLeavesTheNewOne) {
  StepLinks<int> links;
  int first = 0;
  int second = 0;
  EXPECT_EQ(links.find(kBatch), nullptr);
  EXPECT_EQ(links.open(kBatch, first), nullptr);
  EXPECT_EQ(links.open(kBatch, second), &first) << "connected again before the first one ended";
  EXPECT_FALSE(links.close(kBatch, first)) << "the step is linked all the same";
  EXPECT_EQ(links.find(kBatch), &second);
  EXPECT_TRUE(links.close(kBatch, second));
  EXPECT_EQ(links.find(kBatch), nullptr);
  EXPECT_FALSE(links.close(kBatch, second));
}

TEST(StepLinks, AnImpostorsConnectionIsTakenBack) {
  StepLinks<int> links;
  int real = 0;
  int impostor = 0;
  links.reopen(kBatch, links.open(kBatch, impostor));
  EXPECT_EQ(links.find(kBatch), nullptr);
  links.open(kBatch, real);
  links.reopen(kBatch, links.open(kBatch, impostor));
  EXPECT_EQ(links.find(kBatch), &real);
  EXPECT_FALSE(links.close(kBatch, impostor));
}

TEST(StepLinks, StepsOfOneJobAreApart) {
  StepLinks<int> links;
  int batch = 0;
  int again = 0;
  links.open(kBatch, batch);
  EXPECT_EQ(links.open(StepId{JobId(7), 1, kBatchStep}, again), nullptr) << "its next run's";
  EXPECT_EQ(links.find(kBatch), &batch);
}

}  // namespace
}  // namespace muster

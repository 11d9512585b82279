#include "trials/metric_direction.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(MetricDirection, IsToldByTheWordsOfTheName) {
  for (const char* name : {"accuracy", "val_acc", "validation_accuracy", "top1/Acc", "valAccuracy",
                           "F1", "roc-auc", "mean reward"}) {
    EXPECT_EQ(metric_direction(name), MetricDirection::kMoreIsBetter) << name;
  }
  for (const char* name :
       {"loss", "validation_loss", "valLoss", "RMSE", "error", "top5_error", "ppl"}) {
    EXPECT_EQ(metric_direction(name), MetricDirection::kLessIsBetter) << name;
  }
  for (const char* name : {"", "x", "accelerate", "lossless", "accuracy_loss", "speed", "terror"}) {
    EXPECT_EQ(metric_direction(name), MetricDirection::kUnknown) << name;
  }
}

TEST(MetricDirection, AnAccuracyThatIsMinimisedIsDoubtful) {
  EXPECT_EQ(direction_warning("val_accuracy", true),
            "the search looks for the smallest val_accuracy; if more of it is better, write "
            "searcher.smaller_is_better: false");
  EXPECT_EQ(direction_warning("loss", false),
            "the search looks for the largest loss; if more of it is worse, write "
            "searcher.smaller_is_better: true");
  EXPECT_EQ(direction_warning("val_accuracy", false), "");
  EXPECT_EQ(direction_warning("loss", true), "");
  EXPECT_EQ(direction_warning("speed", true), "");
}

}  // namespace
}  // namespace muster

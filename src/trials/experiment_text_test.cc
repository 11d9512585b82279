#include "trials/experiment_text.h"

#include <gtest/gtest.h>

#include "text/json_text.h"

namespace muster {
namespace {

TEST(StopReasonText, SaysRungRankAndCut) {
  EXPECT_EQ(stop_reason_text({StopCause::kRungCut, 0, 1, 6, 3, 12}),
            "cut at rung 1: 7th of 12, the best 3 go on");
  EXPECT_EQ(stop_reason_text({StopCause::kRungCut, 0, 0, 1, 1, 2}),
            "cut at rung 0: 2nd of 2, the best 1 goes on");
  EXPECT_EQ(stop_reason_text({StopCause::kRungCut, 0, 0, 10, 5, 23}),
            "cut at rung 0: 11th of 23, the best 5 go on");
  EXPECT_EQ(stop_reason_text({StopCause::kTrained}), "trained in full");
  EXPECT_EQ(stop_reason_text({StopCause::kReplaced, 0, 0, 20, 0, 23}),
            "replaced by a copy of a better one: 21st of 23");
}

TEST(StateNames, AreDetermineds) {
  EXPECT_EQ(experiment_state_name(ExperimentState::kStoppingCanceled), "STOPPING_CANCELED");
  EXPECT_EQ(trial_state_name(TrialState::kError), "ERROR");
  EXPECT_EQ(stop_call_name(StopCall::kRung), "rung");
}

TEST(ConfigWithSeed, HasTheDrawnOne) {
  ExperimentSpec spec;
  spec.config = R"({"name": "e"})";
  spec.seed = 7;
  EXPECT_EQ(json_text(config_with_seed(spec).value()),
            R"({"name": "e", "reproducibility": {"experiment_seed": 7}})");
  spec.seed = 0;
  spec.config = R"({"reproducibility": {"experiment_seed": null}})";
  EXPECT_EQ(json_text(config_with_seed(spec).value()), spec.config) << "nobody knows it";
  spec.config = "[]";
  EXPECT_FALSE(config_with_seed(spec).has_value());
}

TEST(TrialEnd, AlwaysSaysWhy) {
  TrialView trial;
  EXPECT_EQ(trial_end_text(trial), "") << "it has not ended";
  trial.state = TrialState::kCompleted;
  EXPECT_EQ(trial_end_text(trial), "ended by itself, without a report");
  trial.metric = 0.5;
  trial.units = 60;
  EXPECT_EQ(trial_end_text(trial), "ended by itself at 60");
  trial.target = 180;
  EXPECT_EQ(trial_end_text(trial), "ended at 60 of 180");
  trial.stop = StopReason{StopCause::kTrained};
  EXPECT_EQ(trial_end_text(trial), "trained in full");
  trial.stop.reset();
  for (const TrialState state : {TrialState::kCanceled, TrialState::kError}) {
    trial.state = state;
    EXPECT_NE(trial_end_text(trial), "");
  }
  trial.detail = "FAILED with exit code 3";
  EXPECT_EQ(trial_end_text(trial), "FAILED with exit code 3");
}

}  // namespace
}  // namespace muster

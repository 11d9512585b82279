#include "model/event.h"

#include <gtest/gtest.h>

#include "model/batch_mark.h"

namespace muster {
namespace {

TEST(ContinuedInputs, ASearchThatHadNotBegunBegins) {
  ExperimentContinued event;
  EXPECT_EQ(continued_inputs(event), (std::deque<SearchInput>{SearchBegun{}}));
  event.search_state = std::make_shared<const std::string>();
  EXPECT_EQ(continued_inputs(event).size(), 1U) << "an empty state is none";
  event.search_state = std::make_shared<const std::string>("state");
  EXPECT_TRUE(continued_inputs(event).empty());
}

TEST(ContinuedInputs, TrialsThatGoOnComeBeforeThoseThatHaveEnded) {
  ExperimentContinued event;
  event.search_state = std::make_shared<const std::string>("state");
  event.trials = {{TrialId(7), TrialIndex(2), TrialExit::kErrored},
                  {TrialId(8), TrialIndex(3), TrialExit::kCanceled}};
  event.closed = {TrialIndex(0)};
  EXPECT_EQ(continued_inputs(event),
            (std::deque<SearchInput>{AgainInput{TrialIndex(2), TrialExit::kErrored},
                                     AgainInput{TrialIndex(3), TrialExit::kCanceled},
                                     ExitInput{TrialIndex(0), TrialExit::kCompleted, {}}}));
}

TEST(BatchMark, IsOfTheLastEvent) {
  EventBatch batch;
  batch.seq = Seq(9);
  batch.epoch = Epoch(2);
  EXPECT_EQ(mark_of(batch), (BatchMark{Seq(9), Epoch(2), TimePoint()}));
  batch.events.emplace_back().time = TimePoint::from_seconds(5);
  batch.events.emplace_back().time = TimePoint::from_seconds(6);
  EXPECT_EQ(mark_of(batch).time, TimePoint::from_seconds(6));
}

}  // namespace
}  // namespace muster
